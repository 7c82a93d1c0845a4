// Measures how long a peer has left sent data unanswered.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

class Silence {
  public:
    /// Longer than an answer takes on any path or from a busy host.
    static constexpr Duration kOutage = std::chrono::seconds(3);

    /// `stats`: of the connection; empty while there is none.
    void look(Duration at, const std::optional<ConnectionStats>& stats);
    /// The connection is given up. The silence lasts until another connection receives a packet.
    void lost(Duration at);

    /// Zero while nothing waits for an answer, or answers arrive.
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
