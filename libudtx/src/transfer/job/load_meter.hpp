// Load of the receiver's disk task and protocol thread between two looks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "os/thread_time.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/time.hpp"

namespace udtx::transfer {

/// Measures the thread that calls look().
class LoadMeter {
  public:
    /// `worked`: how long the disk task has worked so far. nullopt: the first look.
    [[nodiscard]] std::optional<message::Load> look(Instant now, Duration worked) {
        if (!thread_time_) thread_time_.emplace();
        const Mark mark{now, worked, thread_time_->needed()};
        const auto before = std::exchange(mark_, mark);
        if (!before) return std::nullopt;
        const Duration time = now - before->at;
        return message::Load{thousandths(mark.worked - before->worked, time),
                             thousandths(mark.needed - before->needed, time)};
    }

  private:
    struct Mark {
        Instant at;
        Duration worked{};
        Duration needed{};
    };
    [[nodiscard]] static std::uint64_t thousandths(Duration part, Duration whole) {
        return static_cast<std::uint64_t>(std::clamp(to_seconds(part) / to_seconds(whole), 0.0, 1.0) * 1000.0);
    }

    std::optional<ThreadTime> thread_time_;
    std::optional<Mark> mark_;
};

}  // namespace udtx::transfer
