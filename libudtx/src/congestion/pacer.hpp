// Token bucket that spaces batches: rate from the controller, bursts sized by rate (docs/inside/congestion.md).
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/rate.hpp"

namespace udtx::congestion {

class Pacer {
  public:
    /// Duration of one burst at the pacing rate.
    static constexpr Duration kBurst = std::chrono::microseconds(250);
    /// Timers fire late by tens or hundreds of microseconds. Unused credit is kept for so many bursts, so that the rate
    /// is still reached.
    static constexpr double kKeptBursts = 3.0;
    /// Threads of a busy machine run milliseconds late. If only the pacer held packets back, the credit missed is used
    /// at once. It is at most RTT / kLateRttParts, a burst that fits into shallow queues, and at most kMostLate.
    static constexpr std::int64_t kLateRttParts = 16;
    static constexpr Duration kMostLate = std::chrono::milliseconds(8);
    /// Bytes of a GSO batch that is full to within one datagram. If bursts are at least as large, packets leave in such
    /// batches, one per system call. Otherwise each event (an ACK, a thread that wakes up) would send the few bytes
    /// earned.
    static constexpr double kBatch = 64'000.0;
    static constexpr std::uint64_t kUnpaced = 1ULL << 62U;

    /// `rate` may be infinite (no pacing). Call it whenever the rate or the datagram size may have changed; credit is
    /// kept.
    void set_rate(Instant now, Rate rate, std::uint32_t datagram_bytes);
    /// Bytes that may leave now: one burst (max(rate x kBurst, 2 datagrams)) and missed credit, at most kKeptBursts;
    /// 2^62 when unpaced. At rates with batches (kBatch) it is 0 until a batch is earned, except for the rest of a
    /// batch that a lack of window or data interrupted.
    [[nodiscard]] std::uint64_t budget(Instant now) const;
    void on_sent(Instant now, std::uint64_t bytes);
    /// Says what ended a turn: the pacer alone (`held`), or the window or a lack of data. In the second case the credit
    /// kept is at most kKeptBursts. `rtt`: the shortest RTT, zero when unknown.
    void set_held(bool held, Duration rtt) noexcept;
    /// Time at which a whole burst (at slow rates one datagram) may leave; none when unpaced or possible now.
    [[nodiscard]] std::optional<Instant> next_departure(Instant now) const;

  private:
    void size_bursts();
    [[nodiscard]] double credit_at(Instant now) const;

    Rate rate_ = Rate::infinite();
    std::uint32_t datagram_bytes_ = 1200;
    Duration kept_late_{};     // missed credit to keep while only the pacer holds packets back
    double line_burst_ = 0.0;  // rate x kBurst; batch_, burst_ and most_credit_ follow from it
    double batch_ = 0.0;       // zero: bytes leave as they are earned
    double begun_ = 0.0;       // bytes left of a batch that started to leave
    double burst_ = 0.0;
    double most_credit_ = 0.0;
    double credit_ = 0.0;  // bytes; negative after packets that left without credit (probes)
    Instant credited_;
};

}  // namespace udtx::congestion
