// The sender's half of acknowledgements: which packets arrived or were lost, round-trip time, delivery rate.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/containers.hpp"
#include "udtx/congestion.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

// What the sender remembers of a packet until it is acknowledged or lost. The fixed size avoids allocations per packet.

/// Retransmittable frames other than STREAM and CRYPTO. After a loss they are built again from the current state.
enum class Control : std::uint16_t {
    none = 0,
    ping = 1U << 0U,
    max_data = 1U << 1U,
    max_stream_data = 1U << 2U,  ///< stream in SentPacket::control_stream
    reset_stream = 1U << 3U,     ///< stream in SentPacket::control_stream
    stop_sending = 1U << 4U,     ///< stream in SentPacket::control_stream
    handshake_done = 1U << 5U,
    path_response = 1U << 6U,
    max_streams = 1U << 8U,
    ack = 1U << 7U,            ///< not ack-eliciting; this packet carried an ACK up to `ack_largest`
    path_status = 1U << 9U,    ///< path in SentPacket::control_path
    path_abandon = 1U << 10U,  ///< path in SentPacket::control_path
};
[[nodiscard]] constexpr Control operator|(Control a, Control b) noexcept {
    return static_cast<Control>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
[[nodiscard]] constexpr Control operator&(Control a, Control b) noexcept {
    return static_cast<Control>(static_cast<std::uint16_t>(a) & static_cast<std::uint16_t>(b));
}
[[nodiscard]] constexpr bool has(Control set, Control bits) noexcept { return (set & bits) != Control::none; }
constexpr void add(Control& set, Control bits) noexcept { set = set | bits; }
constexpr void remove(Control& set, Control bits) noexcept {
    set = set & static_cast<Control>(~static_cast<std::uint16_t>(bits));
}

/// Stream or crypto bytes that a packet carried.
struct SentRange {
    StreamId stream{};
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    bool fin = false;
    bool crypto = false;
    bool copy = false;   ///< sent in addition to the original: its loss needs no repair
    bool again = false;  ///< the bytes were lost before
    // With several paths: the entry of the bytes in the transmission record of their stream.
    bool recorded = false;
    PathId record_path{};  ///< path of the entry; for a copy, that of the original
    std::uint32_t record = 0;
};

inline constexpr std::size_t kMaxRanges = 3;

struct SentPacket {
    PacketNumber number = 0;
    Instant sent;
    std::uint32_t bytes = 0;  ///< UDP payload
    Control control = Control::none;
    bool ack_eliciting = false;
    bool in_flight = false;       ///< counts against the window (ack-eliciting or padded)
    bool mtu_probe = false;       ///< its loss says nothing about congestion
    bool retransmission = false;  ///< carries stream bytes that were sent before
    bool application_limited = false;
    bool ecn_marked = false;  ///< left with ECT(0)
    std::uint8_t range_count = 0;
    PathId control_path;
    std::array<SentRange, kMaxRanges> ranges{};
    StreamId control_stream;
    PacketNumber ack_largest = 0;
    // Delivery-rate state at the moment of sending (draft-cheng-iccrg-delivery-rate-estimation, section 3.2).
    std::uint64_t delivered = 0;
    Instant delivered_time;
    Instant first_sent_time;
};

// Round-trip time of a path (RFC 9002, section 5; weights 1/8 and 1/4 are UDT's too).

/// Shortest time that a timer of recovery waits (kGranularity of RFC 9002, section 6.1.2).
inline constexpr Duration kGranularity = std::chrono::milliseconds(1);

class RttEstimator {
  public:
    static constexpr Duration kInitial = std::chrono::milliseconds(200);

    /// `sample` is raw. `ack_delay` is subtracted unless the result would be below the minimum.
    void add(Duration sample, Duration ack_delay);
    void reset();

    [[nodiscard]] bool has_sample() const noexcept { return has_sample_; }
    [[nodiscard]] Duration smoothed() const noexcept { return smoothed_; }  ///< kInitial before the first sample
    [[nodiscard]] Duration variance() const noexcept { return variance_; }
    [[nodiscard]] Duration minimum() const noexcept { return minimum_; }
    [[nodiscard]] Duration latest() const noexcept { return latest_; }  ///< ack delay removed
    /// srtt + max(4 var, 1 ms); the caller adds the peer's ACK delay (RFC 9002, section 6.2.1).
    [[nodiscard]] Duration probe_timeout() const noexcept;

  private:
    Duration smoothed_ = kInitial;
    Duration variance_ = kInitial / 2;
    Duration minimum_{};
    Duration latest_{};
    bool has_sample_ = false;
};

// How much reordering loss detection tolerates on a path. It learns from losses that proved spurious.
//
// It starts at the thresholds of RFC 9002 (3 packets, 9/8 RTT). A spurious loss shows how far and how late the packet
// really came. The packet threshold grows to that distance, the time window in steps of min_rtt / 4 up to one sRTT (RFC
// 8985, section 6.2). The RFC needs one round per step; here the lateness is known, so one round is enough. Both shrink
// by half each time kCalmRounds round trips pass without a spurious loss.

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

// Delivery rate of a path: bytes acknowledged per time, robust against ACK compression
// (draft-cheng-iccrg-delivery-rate-estimation, sections 3.2 and 3.3).

class DeliveryRate {
  public:
    /// Stamps the packet with the state at its departure. `in_flight`: bytes in flight before this packet.
    void on_sent(SentPacket& packet, std::uint64_t in_flight);
    /// Counts a newly acknowledged packet.
    void on_acked(const SentPacket& packet, Instant now);
    /// Call it after all packets of one ACK frame. Returns the sample, if there is one.
    [[nodiscard]] std::optional<DeliverySample> take_sample(Duration min_rtt);
    /// The application has no more data while `in_flight` bytes are in flight. Samples are marked until these are
    /// acknowledged.
    void set_application_limited(std::uint64_t in_flight);
    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }

  private:
    /// State of the most recently sent packet among those acknowledged by one frame.
    struct Newest {
        PacketNumber number = 0;
        std::uint64_t delivered = 0;
        bool application_limited = false;
        Duration send_elapsed{};
        Duration ack_elapsed{};
    };

    std::uint64_t delivered_ = 0;
    Instant delivered_time_;
    Instant first_sent_time_;
    std::uint64_t limited_until_ = 0;  // value of delivered_ up to which samples are marked; 0 = not limited
    std::optional<Newest> newest_;
};

// Fate of each packet of one packet-number space: acknowledged, lost, or overdue.
//
// Order of calls: next_number() -> on_sent() for every packet; on_ack() for every ACK frame of this space; on_timeout()
// when deadline() has passed. Each fills an Outcome that the caller passes to streams and congestion control. Loss
// detection: packet threshold 3 and time threshold 9/8 RTT (RFC 9002, section 6.1). A spurious loss widens both (RFC
// 8985, section 6.2). Probe timeout: srtt + max(4 var, 1 ms) + max_ack_delay, doubled each time (RFC 9002, section 6.2)
// up to kMaxProbeInterval.

struct Outcome {
    std::vector<SentPacket> acked;    ///< ascending; includes packets that had been declared lost
    std::vector<SentPacket> lost;     ///< ascending; only packets in flight, including MTU probes
    std::uint64_t acked_bytes = 0;    ///< of packets in flight, without those declared lost before
    std::uint32_t acked_packets = 0;  ///< number of the packets of acked_bytes, for congestion control
    std::uint32_t quiet_acked = 0;    ///< packets without stream bytes (ACKs, credit), except MTU probes
    std::uint64_t quiet_bytes = 0;    ///< bytes of these packets and of MTU probes
    std::uint32_t quiet_lost = 0;
    std::uint64_t ce_packets = 0;  ///< packets whose CE marks are newly reported; the caller sets it
    std::uint32_t spurious = 0;    ///< packets acknowledged after they had been declared lost
    std::optional<Duration> rtt_sample;
    std::optional<DeliverySample> delivery;
    std::vector<ArrivalSample> arrivals;  ///< delays minus the arrival time of the frame's largest number, see on_ack
    std::uint64_t in_flight_before = 0;
    Instant largest_sent_time;  ///< send time of the frame's largest number, if it is newly acknowledged
    /// Time between sending the first packet of `acked` above the earlier largest number and sending the last one.
    Duration acked_span{};
    bool largest_newly_acked = false;
    bool proves_alive = false;   ///< a packet sent after begin_timeout() was acknowledged; without a timeout, any
    bool probe_timeout = false;  ///< send one or two ack-eliciting packets now, whatever the window
    void clear();                ///< keeps the capacity of the vectors
};

class LossRecovery {
  public:
    /// Longest interval between probes, unless a single probe timeout is longer already. A path that returns after a
    /// blackout is found within this time.
    static constexpr Duration kMaxProbeInterval = std::chrono::milliseconds(400);

    /// How long given-up packets are remembered in a timeout: longer than any acknowledgement is on its way.
    static constexpr Duration kSilenceRemembered = std::chrono::seconds(10);

    /// `first`: the first packet number.
    explicit LossRecovery(Duration max_ack_delay, PacketNumber first = 0);

    [[nodiscard]] PacketNumber next_number() const noexcept { return sent_.next(); }
    /// Leaves next_number() unused for good. An acknowledgement of it is an attack (optimistic ACK).
    void skip_number();
    /// `packet.number` must be next_number().
    void on_sent(const SentPacket& sent);

    /// The receiver's clock is unknown here, so `out.arrivals` has delays minus the time stamp of the largest number.
    /// protocol: a number that was never sent, or was skipped, is acknowledged. Then the outcome is empty.
    Result<void> on_ack(Instant now, const wire::AckFrame& frame, Duration ack_delay, Outcome& out);
    void on_timeout(Instant now, Outcome& out);
    /// The loss time if there is one, else the probe timeout; nullopt if nothing ack-eliciting is in flight.
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// The path is in timeout. Until end_timeout(), an acknowledgement of an earlier packet only frees data. It gives
    /// no RTT or delivery sample and no acknowledged bytes, and leaves the backoff unchanged (as SCTP handles SACKs
    /// then).
    void begin_timeout();
    void end_timeout();
    [[nodiscard]] bool in_timeout() const noexcept { return timeout_from_.has_value(); }
    /// Declares everything in flight lost that was sent before `sent_before`. A late acknowledgement of it is still
    /// recognised for a while, in a timeout for kSilenceRemembered.
    void give_up_flight(Instant now, Outcome& out, Instant sent_before = Instant::max());

    /// Calls fn(const SentPacket&) for each packet in flight, ascending.
    template <class Fn>
    void for_each_in_flight(Fn&& fn) const {
        for (PacketNumber number = std::max(loss_cursor_, sent_.first()); number != sent_.next(); ++number) {
            const Slot& slot = sent_[number];
            if (slot.state == State::outstanding && slot.packet.in_flight) fn(slot.packet);
        }
    }

    /// Declares everything in flight lost and removes it from the ring (handshake given up, path abandoned).
    void abandon(Outcome& out);

    [[nodiscard]] const RttEstimator& rtt() const noexcept { return rtt_; }
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return bytes_in_flight_; }  ///< bytes
    [[nodiscard]] std::uint64_t packets_in_flight() const noexcept { return packets_in_flight_; }
    /// The packet that a probe should repeat; null if nothing ack-eliciting is in flight. Valid until the next call.
    [[nodiscard]] const SentPacket* oldest_in_flight() const noexcept;
    /// Probe timeouts in a row.
    [[nodiscard]] std::uint32_t probe_count() const noexcept { return probe_count_; }
    [[nodiscard]] std::optional<PacketNumber> largest_acked() const noexcept { return largest_acked_; }
    /// srtt + max(4 var, 1 ms) + max_ack_delay, without backoff.
    [[nodiscard]] Duration probe_timeout() const noexcept { return rtt_.probe_timeout() + max_ack_delay_; }
    [[nodiscard]] const ReorderingTolerance& reordering() const noexcept { return reordering_; }
    /// Numbers that still occupy a slot (tests, memory accounting).
    [[nodiscard]] std::size_t remembered() const noexcept { return sent_.size(); }

    /// More packets than any honest peer leaves unacknowledged are stuck behind one that it never acknowledges. Such a
    /// peer makes this end send ACKs and answers none. The caller must close the connection.
    [[nodiscard]] bool overgrown() const noexcept { return quiet_ > 2 * kMaxQuiet; }

    /// Discards all samples: a change of address makes them meaningless (RFC 9000, section 9.4).
    void reset_rtt();
    /// true: the application has nothing more to send. Delivery samples are marked until everything in flight now is
    /// acknowledged. false: no effect, because the mark ends by itself.
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
    /// The packet was sent before the present timeout of the path.
    [[nodiscard]] bool before_timeout(PacketNumber number) const noexcept {
        return timeout_from_ && number < *timeout_from_;
    }
    [[nodiscard]] bool finished(const Slot& slot, Instant now) const;
    [[nodiscard]] Duration time_threshold() const;
    [[nodiscard]] std::optional<Instant> probe_deadline() const;

    Duration max_ack_delay_;
    Ring<Slot> sent_;
    // Acknowledged numbers within the ring. ACK frames repeat their ranges. The gaps of this set show what is new,
    // without access to the slots of other numbers.
    RangeSet acked_;
    Ring<PacketNumber> skipped_;  // ascending: all numbers within sent_, and at least the kSkippedRemembered newest

    RttEstimator rtt_;
    DeliveryRate delivery_;
    ReorderingTolerance reordering_;
    std::optional<PacketNumber> largest_acked_;
    PacketNumber loss_cursor_;     // packets in flight have this number or a larger one
    PacketNumber rtt_valid_from_;  // lower numbers were sent before the change of address
    std::optional<Instant> loss_time_;
    Instant last_eliciting_;  // when the last ack-eliciting packet was sent, or a later probe timeout
    std::uint64_t bytes_in_flight_ = 0;
    std::uint64_t packets_in_flight_ = 0;
    std::uint64_t eliciting_in_flight_ = 0;
    std::uint64_t quiet_ = 0;  // slots of packets that are not in flight (ACKs only)
    std::uint32_t probe_count_ = 0;
    std::optional<PacketNumber> timeout_from_;  // the first number sent in the timeout
};

}  // namespace udtx::recovery
