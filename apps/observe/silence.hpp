// For how long a peer has left unanswered what was sent to it.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

class Silence {
  public:
    /// Longer than answers take on any line, or a busy host.
    static constexpr Duration kOutage = std::chrono::seconds(3);

    /// `stats`: of the connection; nothing while there is none.
    void look(Duration at, const std::optional<ConnectionStats>& stats);
    /// The connection is given up: silence lasts until another is heard.
    void lost(Duration at);

    /// Zero while there is nothing to answer, or it is being answered.
    [[nodiscard]] Duration unanswered() const noexcept { return since_ ? at_ - *since_ : Duration(); }
    [[nodiscard]] bool outage() const noexcept { return lost_ || unanswered() >= longest_; }

  private:
    Duration at_{};
    std::optional<Duration> since_;
    Duration longest_ = kOutage;
    std::uint64_t received_ = 0;  // packets
    bool lost_ = false;
};

}  // namespace udtx::apps
