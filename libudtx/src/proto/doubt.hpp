// Doubt that the peer is still there. Others can forge its causes, so it ends nothing as long as the peer answers.
#pragma once

#include <optional>

#include "udtx/core/connection.hpp"
#include "udtx/time.hpp"

namespace udtx::proto {

/// Doubt about one path. The peer is asked, and has until `until` to answer.
struct Doubt {
    std::optional<Evidence> evidence;  ///< nullopt: see doubt_after_stop()
    Duration patience{};
    Instant until{};
    Instant ask_at{};        ///< when to ask again
    Instant answers_from{};  ///< earlier packets may have left before the peer ended
};

}  // namespace udtx::proto
