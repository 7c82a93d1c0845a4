// The receiver's half of acknowledgements: which numbers arrived and when, and when an ACK is due.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

// Receiver's half of the one-way delays: selects the arrival times to report to the sender, which knows the send times.
//
// It reports every kArrivalEvery-th packet, the packets on both sides of a gap in the numbers, and the newest packet at
// the moment of the ACK. The delay beside a gap shows whether the queue was full when the packets between were lost. If
// packets share a time stamp (GRO), it reports the last one, because the others waited for it in the kernel, not in the
// network. If ACKs are far apart and the samples do not fit, every second one is dropped and the spacing doubles.

class ArrivalSamples {
  public:
    /// Adds a packet with the largest number so far. `after_gap`: the preceding number has not arrived. `spread`: ACKs
    /// are far apart, so the samples should cover all the time between them.
    void on_newest(Instant time, PacketNumber number, bool after_gap, bool spread);
    /// Moves the samples into `frame`, whose largest number arrived at `largest_time`. It moves at most `most` samples,
    /// among them the newest.
    void take(Instant largest_time, std::size_t most, wire::AckFrame& frame);

  private:
    struct Sample {
        Instant time;
        PacketNumber number = 0;
        bool beside_gap = false;
    };
    void keep(const Sample& sample, bool spread);
    void thin_out();

    std::array<Sample, wire::kMaxAckArrivals> kept_{};
    std::size_t count_ = 0;
    PacketNumber every_ = wire::kArrivalEvery;
    std::optional<Sample> newest_;
};

// How often acknowledgements may be sent, so that they fit a narrow return path (docs/inside/acknowledgements.md).
//
// The peer also acknowledges packets that carry acknowledgements, in passing, and reports when they arrived. So this
// end knows their queueing delay, and how many bytes per second came through. From this follow the states:
//   start    no bound. If the first few packets are all late, they suffice for a judgement.
//   wary     the start after a slow handshake: two packets for each one that arrives soon, and a few per second.
//   open     no bound, because many packets arrived soon. A judgement takes a round trip.
//   data     no bound and no judgement, because this end sends more packets with stream bytes than without.
//   limited  at most kShare of the rate that came through during a queue of these packets. After some time without a
//            queue the rate rises above it. Otherwise a return path that became wider would go unnoticed.

class AckPace {
  public:
    static constexpr double kShare = 0.7;           ///< of the return path's rate, until probe() raises it
    static constexpr std::uint32_t kOverhead = 28;  ///< bytes of IPv4 and UDP headers around each packet
    static constexpr std::uint32_t kProven = 64;    ///< packets that arrived soon: the return path is wide
    static constexpr Duration kLongest = std::chrono::milliseconds(400);  ///< between two ACKs, on any return path

    void on_handshake(Duration took);

    /// What an ACK of the peer reports about packets of this end without stream bytes.
    struct Fate {
        Instant now;
        Instant sent;                   ///< when the largest acknowledged number was sent
        std::optional<Duration> delay;  ///< its one-way delay, including the unknown difference of the clocks
        std::uint32_t packets = 0;      ///< packets that arrived
        std::uint64_t bytes = 0;        ///< UDP payload of the packets that arrived
        std::uint32_t lost = 0;
    };
    void on_fate(const Fate& fate);
    /// Call it when a packet without stream bytes is sent.
    void on_sent(Instant now, std::size_t bytes);
    /// Call it when a packet with stream bytes is sent. An end that sends more of these than of others has no bound:
    /// its ACKs ride on them, and the queue is that of the data. A few such packets, as a receiver of files sends them,
    /// are only counted.
    void on_data_sent(Instant now, std::size_t bytes) {
        if (state_ != State::data || data_ahead_ < kManyData) count_data(now, bytes);
    }

    [[nodiscard]] bool allows(Instant now) const { return !bounded() || now >= next(); }
    /// When the next acknowledgement may be sent; a time in the past: at once.
    [[nodiscard]] Instant next() const;
    /// The return path has proven wide enough.
    [[nodiscard]] bool open() const noexcept { return state_ == State::open || state_ == State::data; }
    /// The return path is narrow, or seems to be.
    [[nodiscard]] bool slow() const noexcept { return limited() || (starting() && late_); }
    /// The return path is known to be narrow. Acknowledgements should be small.
    [[nodiscard]] bool limited() const noexcept { return state_ == State::limited; }
    /// Bytes/s that may be sent, headers included; 0: no bound.
    [[nodiscard]] double rate() const noexcept { return limited() ? rate_ : 0.0; }

  private:
    enum class State : std::uint8_t { start, wary, open, data, limited };
    // A trial that finds nothing returns to the state before it.
    static constexpr Step<State> kSteps[] = {
        {State::start, State::wary},    {State::start, State::open},    {State::start, State::data},
        {State::start, State::limited}, {State::wary, State::open},     {State::wary, State::data},
        {State::wary, State::limited},  {State::open, State::data},     {State::open, State::limited},
        {State::data, State::open},     {State::limited, State::start}, {State::limited, State::wary},
        {State::limited, State::open},  {State::limited, State::data},
    };
    static constexpr std::uint32_t kManyData = 16;  // surplus of packets with stream bytes over those without

    /// Measurements of at least one round trip: how much arrived and how fast.
    struct Round {
        Instant began;
        Instant first_sent;
        Instant first_arrival;
        std::uint32_t samples = 0;
        std::uint32_t packets = 0;
        double bytes = 0.0;  ///< bytes that arrived after the first packet, headers included
        double lost = 0.0;   ///< packets that did not arrive
        Duration least_queue = Duration::max();
    };

    /// Less is sent for a while, to see whether this end causes a queue or losses. If about as much of them remains,
    /// their cause is another.
    struct Trial {
        Duration queue{};
        double loss = 0.0;
        State state = State::open;
        double rate = 0.0;
    };

    [[nodiscard]] bool bounded() const noexcept { return limited() || state_ == State::wary; }
    [[nodiscard]] bool starting() const noexcept { return state_ == State::start || state_ == State::wary; }
    [[nodiscard]] double filling_rate(Instant now) const;
    [[nodiscard]] double least_rate() const;
    [[nodiscard]] Duration tolerated() const;
    [[nodiscard]] static Duration draining_time(Duration queue);
    void refill(Instant now);
    void spend(Instant now, double bytes);
    void count_data(Instant now, std::size_t bytes);
    void start(const Fate& fate, Duration queue);
    void shorten_draining(const Fate& fate, Duration queue);
    void count(const Fate& fate, Duration queue);
    void end_round(const Fate& fate);
    void begin_trial(Instant now, double rate, double loss);
    void judge_trial(Instant now, double loss);
    void consider_queue(Instant now, double came, double offered);
    void limit(Instant now, double rate, Duration draining);
    void probe(Instant now, double offered);

    Lifecycle<kSteps> state_{State::start};
    double rate_ = 0.0;            // bytes/s, while limited
    double capacity_ = 0.0;        // bytes/s that came through during a queue; 0: no queue so far
    double packet_bytes_ = 120.0;  // mean, headers included
    double credit_ = 0.0;          // bytes, while bounded
    std::optional<Instant> refilled_;
    std::uint32_t proven_ = 0;
    std::uint32_t data_ahead_ = 0;  // packets with stream bytes minus those without, from 0 to kManyData
    bool late_ = false;             // in the start: the newest reported packet was late
    double unconfirmed_ = 0.0;      // in the start: bytes sent and not reported yet
    std::optional<Trial> trial_;
    double random_loss_ = 0.0;
    double arrived_ = 0.0;  // packets
    double lost_ = 0.0;
    Instant innocent_until_;
    SlidingExtreme<Duration, std::less<>> delays_{std::chrono::seconds(10)};
    std::optional<Round> round_;
    Instant draining_since_;
    Instant draining_until_;
    Instant keep_until_;
    Duration keep_{};
};

// Receiver side of one packet-number space: which numbers arrived, and when an ACK is due.
//
// While a packet waits for its ACK, an ACK is sent every SYN interval and after kPacketsPerAck packets. It is sent at
// once when a packet opens a gap or arrives below the largest number (UDT's immediate NAK, expressed as ranges).
// AckPace bounds all of this to what the return path allows.

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
    [[nodiscard]] bool pending() const noexcept { return need_ != Need::none; }
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
    /// What the packets since the last ACK need; it grows until build().
    enum class Need : std::uint8_t {
        none,
        report,   ///< only packets without ack-eliciting frames have arrived: their ACK may ride along
        ack,      ///< an ACK after `interval`, or after kPacketsPerAck packets
        at_once,  ///< an ACK now
    };
    void raise(Need need) noexcept { need_ = std::max(need_, need); }
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
    Need need_ = Need::none;
};

}  // namespace udtx::recovery
