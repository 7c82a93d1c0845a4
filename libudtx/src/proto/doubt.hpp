// Doubt that the peer is still there. Others can forge what raises it, so it ends nothing as long as the peer answers.
#pragma once

#include "udtx/core/connection.hpp"
#include "udtx/time.hpp"

namespace udtx::proto {

/// Of one path. The peer is asked, and has until `until` to answer.
struct Doubt {
    Evidence evidence = Evidence::refused;
    Duration patience{};
    Instant until{};
    Instant ask_at{};        ///< again
    Instant answers_from{};  ///< what comes earlier may have left before the peer's end
};

}  // namespace udtx::proto
