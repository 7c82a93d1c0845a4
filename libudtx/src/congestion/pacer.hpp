// Token bucket that spaces batches: rate from the controller, bursts sized by rate (docs/inside/congestion.md).
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx::congestion {

class Pacer {
  public:
    /// Line time of one batch.
    static constexpr Duration kBurst = std::chrono::microseconds(250);
    /// Timers fire late by tens or hundreds of microseconds: unused credit is kept for so many bursts, or the rate
    /// would not be reached.
    static constexpr double kKeptBursts = 3.0;
    /// A busy machine runs its threads late by milliseconds. What a packet that only the pacer held back missed by that
    /// is made good at once, up to this part of a round trip (a burst that shallow queues have room for) and time.
    static constexpr std::int64_t kLateRttParts = 16;
    static constexpr Duration kMostLate = std::chrono::milliseconds(8);
    /// On lines whose bursts are as large, what leaves in one system call: bytes of a full GSO batch, but for less than
    /// one datagram. Whoever asks in between (an ACK came, a thread wakes up) would send what little was earned since.
    static constexpr double kBatch = 64'000.0;
    static constexpr std::uint64_t kUnpaced = 1ULL << 62U;

    /// `rate` may be infinite (no pacing). Call whenever rate or datagram size may have changed; credit is kept.
    void set_rate(Instant now, Rate rate, std::uint32_t datagram_bytes);
    /// Bytes that may leave now, one burst (max(rate x kBurst, 2 datagrams)) and what was
    /// missed, at most kKeptBursts; 2^62 when unpaced. On fast lines none before they are a batch, or the rest of one
    /// that a lack of window or data broke off.
    [[nodiscard]] std::uint64_t budget(Instant now) const;
    void on_sent(Instant now, std::uint64_t bytes);
    /// What ended a turn: the pacer alone (`held`), or the window or a lack of data, for which no credit is kept beyond
    /// kKeptBursts. `rtt`: the shortest, zero when unknown.
    void set_held(bool held, Duration rtt) noexcept;
    /// When a whole burst (or, for slow rates, one datagram) may leave next; none when unpaced or possible now.
    [[nodiscard]] std::optional<Instant> next_departure(Instant now) const;

  private:
    void size_bursts();
    [[nodiscard]] double credit_at(Instant now) const;

    Rate rate_ = Rate::infinite();
    std::uint32_t datagram_bytes_ = 1200;
    Duration kept_late_{};     // of missed credit, while only the pacer holds packets back
    double line_burst_ = 0.0;  // rate x kBurst, and what else follows from the rate
    double batch_ = 0.0;       // zero: bytes leave as they are earned
    double begun_ = 0.0;       // of a batch that has begun to leave, what is left
    double burst_ = 0.0;
    double most_credit_ = 0.0;
    double credit_ = 0.0;  // bytes; negative after packets that were sent regardless (probes)
    Instant credited_;
};

}  // namespace udtx::congestion
