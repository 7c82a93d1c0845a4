// Receiver side of one packet-number space: which numbers came, and when an ACK is due.
//
// ACKs leave every SYN interval while something is owed, after kPacketsPerAck packets in between, and at once when
// a packet opens a new gap or arrives below the largest (UDT's immediate NAK, said with ranges); all as far as the way
// back allows (AckPace).
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

    /// Records an authenticated packet (the replay window has passed it). Already recorded, or out of range below
    /// what is kept: false, the packet is to be dropped.
    bool on_received(Instant now, PacketNumber number, bool ack_eliciting);
    /// An ACK frame is to be sent now.
    [[nodiscard]] bool due(Instant now) const noexcept;
    /// When due() becomes true by time alone.
    [[nodiscard]] std::optional<Instant> deadline() const noexcept;
    /// Something unreported has come (an ACK may ride on a data packet although it is not due).
    [[nodiscard]] bool pending() const noexcept { return pending_any_; }
    /// Builds the frame with at most `max_ranges` newest ranges and clears due(). false: nothing ever came.
    bool build(Instant now, std::size_t max_ranges, wire::AckFrame& frame);
    /// The frame just built found no room: it is due still.
    void put_back() noexcept;
    /// Adds the arrival times collected since the last call to a frame just built.
    void add_arrivals(wire::AckFrame& frame) {
        arrivals_.take(largest_time_, pace_.limited() ? kArrivalsWhenNarrow : wire::kMaxAckArrivals, frame);
    }
    [[nodiscard]] AckPace& pace() noexcept { return pace_; }
    [[nodiscard]] const AckPace& pace() const noexcept { return pace_; }
    /// The peer acknowledged a packet that carried our ACK with this largest number: older ranges may go.
    void on_ack_acknowledged(PacketNumber ack_largest);
    [[nodiscard]] std::optional<PacketNumber> largest() const noexcept {
        if (received_.empty()) return std::nullopt;
        return received_.back().end - 1;
    }
    [[nodiscard]] Instant largest_time() const noexcept { return largest_time_; }
    /// Intervals kept, at most wire::kMaxAckRanges.
    [[nodiscard]] std::size_t range_count() const noexcept { return received_.count(); }

  private:
    [[nodiscard]] bool wanted(Instant now) const noexcept;

    PathId path_;
    Duration interval_;
    AckPace pace_;
    RangeSet received_;
    ArrivalSamples arrivals_;
    PacketNumber floor_ = 0;  // numbers below fell out of the capped set: received or not is no longer known
    Instant largest_time_;
    Instant oldest_pending_;
    std::uint32_t pending_eliciting_ = 0;
    bool pending_any_ = false;
    bool immediate_ = false;
};

}  // namespace udtx::recovery
