// What happened to each packet of one packet-number space: acknowledged, lost, or overdue.
//
// Order of calls: next_number() -> on_sent() for every packet; on_ack() for every ACK frame of this space;
// on_timeout() when deadline() has passed. Each fills an Outcome that the caller hands to streams and congestion
// control. Loss detection: packet threshold 3 and time threshold 9/8 RTT (RFC 9002, section 6.1), both widened when
// a loss proves spurious (RFC 8985, section 6.2); probe timeout srtt + max(4 var, 1 ms) + max_ack_delay, doubled
// each time (RFC 9002, section 6.2) up to kMaxProbeInterval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/range_set.hpp"
#include "base/ring.hpp"
#include "recovery/delivery_rate.hpp"
#include "recovery/reordering.hpp"
#include "recovery/rtt.hpp"
#include "recovery/sent_packet.hpp"
#include "udtx/congestion.hpp"
#include "udtx/result.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

struct Outcome {
    std::vector<SentPacket> acked;    ///< ascending; also those that had been declared lost before
    std::vector<SentPacket> lost;     ///< ascending, in-flight packets only; includes MTU probes
    std::uint64_t acked_bytes = 0;    ///< of in-flight packets, without those declared lost before
    std::uint32_t acked_packets = 0;  ///< the same, counted: what congestion control is told
    std::uint32_t quiet_acked = 0;    ///< packets without stream bytes (ACKs, credit), MTU probes apart
    std::uint64_t quiet_bytes = 0;    ///< of those and of MTU probes
    std::uint32_t quiet_lost = 0;
    std::uint32_t spurious = 0;  ///< packets acknowledged after they had been declared lost
    std::optional<Duration> rtt_sample;
    std::optional<DeliverySample> delivery;
    std::vector<ArrivalSample> arrivals;  ///< delays up to the arrival of the frame's largest number, see on_ack
    std::uint64_t in_flight_before = 0;
    Instant largest_sent_time;  ///< send time of the frame's largest number, when that is newly acknowledged
    Duration acked_span{};      ///< send times of `acked`, from the first above what was known to the last
    bool largest_newly_acked = false;
    bool proves_alive =
        false;  ///< something sent after begin_timeout() was acknowledged; true when there is no time-out
    bool probe_timeout = false;  ///< send one or two ack-eliciting packets now, window or not
    void clear();                ///< keeps the capacity of the vectors
};

class LossRecovery {
  public:
    /// Longest pause between probes, unless a single probe timeout is longer already: a path that comes back after
    /// a blackout is found again within this time.
    static constexpr Duration kMaxProbeInterval = std::chrono::milliseconds(400);

    /// In a time-out, of what was given up: longer than any acknowledgement stays on its way.
    static constexpr Duration kSilenceRemembered = std::chrono::seconds(10);

    /// Packet numbers start at `first`.
    explicit LossRecovery(Duration max_ack_delay, PacketNumber first = 0);

    [[nodiscard]] PacketNumber next_number() const noexcept { return sent_.next(); }
    /// Leaves next_number() unused for good; an acknowledgement of it is an attack (optimistic ACK).
    void skip_number();
    /// `packet.number` must be next_number().
    void on_sent(const SentPacket& sent);

    /// The receiver's clock is not known here: `out.arrivals` has delays less the stamp of the largest number.
    /// protocol error when a number never sent or skipped is acknowledged; then the outcome is empty.
    Result<void> on_ack(Instant now, const wire::AckFrame& frame, Duration ack_delay, Outcome& out);
    void on_timeout(Instant now, Outcome& out);
    /// Earlier of the loss time and the probe timeout; none when nothing ack-eliciting is in flight.
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// The path is in time-out. Until end_timeout(), an acknowledgement of what was sent before now only frees data: it
    /// gives no RTT or delivery sample, no acknowledged bytes, and leaves the back-off as it is (as SCTP handles SACKs
    /// then).
    void begin_timeout();
    void end_timeout();
    [[nodiscard]] bool in_timeout() const noexcept { return timeout_from_.has_value(); }
    /// Everything in flight that was sent before this counts as lost from now on; its late acknowledgement is still
    /// understood for a while, kSilenceRemembered in a time-out.
    void give_up_flight(Instant now, Outcome& out, Instant sent_before = Instant::max());

    /// fn(const SentPacket&), ascending.
    template <class Fn>
    void for_each_in_flight(Fn&& fn) const {
        for (PacketNumber number = std::max(loss_cursor_, sent_.first()); number != sent_.next(); ++number) {
            const Slot& slot = sent_[number];
            if (slot.state == State::outstanding && slot.packet.in_flight) fn(slot.packet);
        }
    }

    /// Everything in flight is lost and leaves the ring (handshake given up, path abandoned).
    void abandon(Outcome& out);

    [[nodiscard]] const RttEstimator& rtt() const noexcept { return rtt_; }
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return bytes_in_flight_; }  ///< bytes
    [[nodiscard]] std::uint64_t packets_in_flight() const noexcept { return packets_in_flight_; }
    /// What a probe should repeat; null when nothing ack-eliciting is in flight. Valid until the next call.
    [[nodiscard]] const SentPacket* oldest_in_flight() const noexcept;
    /// Consecutive probe timeouts.
    [[nodiscard]] std::uint32_t probe_count() const noexcept { return probe_count_; }
    [[nodiscard]] std::optional<PacketNumber> largest_acked() const noexcept { return largest_acked_; }
    /// srtt + max(4 var, 1 ms) + max_ack_delay, without backoff.
    [[nodiscard]] Duration probe_timeout() const noexcept { return rtt_.probe_timeout() + max_ack_delay_; }
    [[nodiscard]] const ReorderingTolerance& reordering() const noexcept { return reordering_; }
    /// Numbers that still take a slot (tests, memory accounting).
    [[nodiscard]] std::size_t remembered() const noexcept { return sent_.size(); }

    /// More packets than any honest peer leaves unacknowledged are stuck behind one that it never acknowledges: it
    /// keeps us sending ACKs and answers none. The connection is to be closed.
    [[nodiscard]] bool overgrown() const noexcept { return quiet_ > 2 * kMaxQuiet; }

    /// A change of address makes old samples meaningless (RFC 9000, section 9.4).
    void reset_rtt();
    /// true: the application has nothing more to send; delivery samples are marked until what is out now has been
    /// acknowledged. false changes nothing, that mark ends by itself.
    void set_application_limited(bool limited);

  private:
    enum class State : std::uint8_t { skipped, outstanding, acked, lost };
    struct Slot {
        SentPacket packet;
        State state = State::skipped;
        Instant lost_at;
    };
    static constexpr std::size_t kSkippedRemembered = 64;
    static constexpr std::uint64_t kMaxQuiet = 1U << 15U;

    [[nodiscard]] Result<void> check(const wire::AckFrame& frame) const;
    [[nodiscard]] bool acknowledges_skipped(const wire::AckFrame& frame) const;
    void acknowledge(Instant now, PacketNumber number, Outcome& out);
    void take_arrivals(const wire::AckFrame& frame, Outcome& out) const;
    void take_rtt_sample(Instant now, PacketNumber largest, bool any_eliciting, Duration ack_delay, Outcome& out);
    void adapt_to_spurious(Instant now, const Slot& slot);
    void detect_losses(Instant now, Outcome& out);
    void leave_flight(const SentPacket& packet);
    void forget_front();
    void forget_finished(Instant now);
    /// Sent before the time-out that the path is in.
    [[nodiscard]] bool before_timeout(PacketNumber number) const noexcept {
        return timeout_from_ && number < *timeout_from_;
    }
    [[nodiscard]] bool finished(const Slot& slot, Instant now) const;
    [[nodiscard]] Duration time_threshold() const;
    [[nodiscard]] std::optional<Instant> probe_deadline() const;

    Duration max_ack_delay_;
    Ring<Slot> sent_;
    // Acknowledged numbers within the ring. ACK frames repeat their ranges: asking this set for the gaps finds what
    // is new without touching the slots of what is not.
    RangeSet acked_;
    Ring<PacketNumber> skipped_;  // all within sent_ and the kSkippedRemembered newest, ascending

    RttEstimator rtt_;
    DeliveryRate delivery_;
    ReorderingTolerance reordering_;
    std::optional<PacketNumber> largest_acked_;
    PacketNumber loss_cursor_;     // nothing below is outstanding and in flight
    PacketNumber rtt_valid_from_;  // older packets went over the address before
    std::optional<Instant> loss_time_;
    Instant last_eliciting_;  // or the probe timeout after it
    std::uint64_t bytes_in_flight_ = 0;
    std::uint64_t packets_in_flight_ = 0;
    std::uint64_t eliciting_in_flight_ = 0;
    std::uint64_t quiet_ = 0;  // slots of packets out of flight (ACKs only)
    std::uint32_t probe_count_ = 0;
    std::optional<PacketNumber> timeout_from_;  // the first number sent in the time-out
};

}  // namespace udtx::recovery
