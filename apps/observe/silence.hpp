// Measures how long a peer has left sent data unanswered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

class Silence {
  public:
    /// Longer than an answer takes on any path or from a busy host.
    static constexpr Duration kOutage = std::chrono::seconds(3);
    /// A silence that lasts this long is missing time, even if it ends before it is reported as an outage.
    static constexpr Duration kOverdue = std::chrono::seconds(1);

    /// `receives`: this end receives the data, and so sends little that needs an answer.
    explicit Silence(bool receives = false) : receives_(receives) {}

    /// `stats`: of the connection; empty while there is none.
    void look(Duration at, const std::optional<ConnectionStats>& stats);
    /// The connection is given up. The silence lasts until another connection receives a packet.
    void lost(Duration at);

    /// Zero while nothing waits for an answer, or answers arrive.
    [[nodiscard]] Duration unanswered() const noexcept { return since_ ? at_ - *since_ : Duration(); }
    [[nodiscard]] bool outage() const noexcept { return lost_ || unanswered() >= std::max(kOutage, usual_); }
    /// An answer is missing for so long that the time counts as an outage.
    [[nodiscard]] bool overdue() const noexcept { return lost_ || unanswered() >= std::max(kOverdue, usual_); }
    /// Nothing has arrived at a receiver for a while. If the connection is lost, the outage began then.
    [[nodiscard]] bool quiet() const noexcept { return receives_ && at_ - heard_at_ >= std::max(kOverdue, usual_); }

  private:
    Duration at_{};
    std::optional<Duration> since_;
    Duration heard_at_{};
    Duration usual_{};  // what an answer may take on a slow path
    bool receives_;
    std::uint64_t received_ = 0;  // packets
    bool lost_ = false;
};

}  // namespace udtx::apps
