// Receiver side of one packet-number space: which numbers arrived, and when an ACK is due.
//
// While a packet waits for its ACK, an ACK is sent every SYN interval and after kPacketsPerAck packets. It is sent at
// once when a packet opens a gap or arrives below the largest number (UDT's immediate NAK, expressed as ranges).
// AckPace bounds all of this to what the return path allows.
#pragma once

#include <cstdint>
#include <optional>

#include "base/range_set.hpp"
#include "recovery/ack_pace.hpp"
#include "recovery/arrival_samples.hpp"
#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

class AckTracker {
  public:
    static constexpr std::uint32_t kPacketsPerAck = 64;
    static constexpr std::size_t kArrivalsWhenNarrow = 4;

    AckTracker(PathId path, Duration interval) : path_(path), interval_(interval) {}

    /// Records an authenticated packet that has passed the replay window. Returns false if the packet must be dropped:
    /// it is recorded already, or below the range that is kept.
    bool on_received(Instant now, PacketNumber number, bool ack_eliciting);
    /// An ACK frame must be sent now.
    [[nodiscard]] bool due(Instant now) const noexcept;
    /// When due() becomes true without another packet.
    [[nodiscard]] std::optional<Instant> deadline() const noexcept;
    /// A packet has arrived that is not reported yet. Its ACK may ride on a data packet before it is due.
    [[nodiscard]] bool pending() const noexcept { return pending_any_; }
    /// Builds the frame with at most `max_ranges` newest ranges and clears due(). false: nothing has arrived so far.
    bool build(Instant now, std::size_t max_ranges, wire::AckFrame& frame);
    /// The frame just built did not fit. It stays due.
    void put_back() noexcept;
    /// Adds the arrival times collected since the last call to a frame just built.
    void add_arrivals(wire::AckFrame& frame) {
        arrivals_.take(largest_time_, pace_.limited() ? kArrivalsWhenNarrow : wire::kMaxAckArrivals, frame);
    }
    [[nodiscard]] AckPace& pace() noexcept { return pace_; }
    [[nodiscard]] const AckPace& pace() const noexcept { return pace_; }
    /// The peer acknowledged a packet that carried an ACK of this end with this largest number. Older ranges are
    /// dropped.
    void on_ack_acknowledged(PacketNumber ack_largest);
    [[nodiscard]] std::optional<PacketNumber> largest() const noexcept {
        if (received_.empty()) return std::nullopt;
        return received_.back().end - 1;
    }
    [[nodiscard]] Instant largest_time() const noexcept { return largest_time_; }
    /// Number of intervals kept, at most wire::kMaxAckRanges.
    [[nodiscard]] std::size_t range_count() const noexcept { return received_.count(); }

  private:
    [[nodiscard]] bool wanted(Instant now) const noexcept;

    PathId path_;
    Duration interval_;
    AckPace pace_;
    RangeSet received_;
    ArrivalSamples arrivals_;
    PacketNumber floor_ = 0;  // lower numbers left the bounded set: whether they arrived is no longer known
    Instant largest_time_;
    Instant oldest_pending_;
    std::uint32_t pending_eliciting_ = 0;
    bool pending_any_ = false;
    bool immediate_ = false;
};

}  // namespace udtx::recovery
