// Doubt that the peer is still there. Others can forge what raises it, so it ends nothing as long as the peer answers.
#pragma once

#include <cstdint>

#include "udtx/time.hpp"

namespace udtx::proto {

/// What speaks for the peer's end.
enum class Evidence : std::uint8_t {
    refused,  ///< ICMP "port unreachable" came from its address
    exited,   ///< who started the peer's program says that it has ended
    reset,    ///< a server without this connection showed the token that the peer gave us
};

/// Of one path. The peer is asked, and has until `until` to answer.
struct Doubt {
    Evidence evidence = Evidence::refused;
    Duration patience{};
    Instant until{};
    Instant ask_at{};        ///< again
    Instant answers_from{};  ///< what comes earlier may have left before the peer's end
};

}  // namespace udtx::proto
