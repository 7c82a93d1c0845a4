// How much reordering loss detection tolerates on a path. It learns from losses that proved spurious.
//
// It starts at the thresholds of RFC 9002 (3 packets, 9/8 RTT). A spurious loss shows how far and how late the packet
// really came. The packet threshold grows to that distance, the time window in steps of min_rtt / 4 up to one sRTT (RFC
// 8985, section 6.2). The RFC needs one round per step; here the lateness is known, so one round is enough. Both shrink
// by half each time kCalmRounds round trips pass without a spurious loss.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/time.hpp"

namespace udtx::recovery {

class ReorderingTolerance {
  public:
    static constexpr std::uint64_t kPacketThreshold = 3;  // RFC 9002, section 6.1.1
    /// Above any window (10 Gbit/s x 200 ms is 178,000 packets), so that only the time threshold decides there.
    static constexpr std::uint64_t kMaxPacketThreshold = 1U << 18U;
    static constexpr int kCalmRounds = 16;  // RFC 8985: RACK.reo_wnd_persist

    /// A packet that was declared lost is acknowledged `distance` numbers below the largest, `late` after the basic
    /// time threshold. If `late` is not positive, the time threshold was not at fault.
    void on_spurious(Instant now, std::uint64_t distance, Duration late, Duration min_rtt, Duration smoothed);
    /// Call it once per ACK.
    void decay(Instant now, Duration smoothed);
    void reset() { *this = ReorderingTolerance(); }

    [[nodiscard]] std::uint64_t packet_threshold() const noexcept { return packets_; }
    /// Time that is added to 9/8 RTT.
    [[nodiscard]] Duration window() const noexcept { return window_; }

  private:
    std::uint64_t packets_ = kPacketThreshold;
    Duration window_{};
    std::optional<Instant> calm_since_;
};

}  // namespace udtx::recovery
