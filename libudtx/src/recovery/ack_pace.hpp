// How often acknowledgements may be sent, so that they fit a narrow return path (docs/inside/acknowledgements.md).
//
// The peer also acknowledges packets that carry acknowledgements, in passing, and reports when they arrived. So this
// end knows their queueing delay, and how many bytes per second came through. From this follow three states:
//   start    no bound, unless the handshake was slow. If the first few packets are all late, they suffice for a
//            judgement.
//   open     no bound, because many packets arrived soon. A judgement takes a round trip.
//   limited  at most kShare of the rate that came through during a queue of these packets. After some time without a
//            queue the rate rises above it. Otherwise a return path that became wider would go unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/sliding_extreme.hpp"
#include "udtx/time.hpp"

namespace udtx::recovery {

class AckPace {
  public:
    static constexpr double kShare = 0.7;           ///< of the return path's rate, until probe() raises it
    static constexpr std::uint32_t kOverhead = 28;  ///< bytes of IPv4 and UDP headers around each packet
    static constexpr std::uint32_t kProven = 64;    ///< packets that arrived soon: the return path is wide
    static constexpr Duration kLongest = std::chrono::milliseconds(400);  ///< between two ACKs, on any return path

    /// If the handshake took long, the start has a bound too: two packets for each one that arrives soon, and a few per
    /// second in any case.
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
        if (!sends_data_ || data_ahead_ < kManyData) count_data(now, bytes);
    }

    [[nodiscard]] bool allows(Instant now) const { return !bounded() || now >= next(); }
    /// When the next acknowledgement may be sent; a time in the past: at once.
    [[nodiscard]] Instant next() const;
    /// The return path has proven wide enough.
    [[nodiscard]] bool open() const noexcept { return state_ == State::open; }
    /// The return path is narrow, or seems to be.
    [[nodiscard]] bool slow() const noexcept { return limited() || (state_ == State::start && late_); }
    /// The return path is known to be narrow. Acknowledgements should be small.
    [[nodiscard]] bool limited() const noexcept { return state_ == State::limited; }
    /// Bytes/s that may be sent, headers included; 0: no bound.
    [[nodiscard]] double rate() const noexcept { return limited() ? rate_ : 0.0; }

  private:
    enum class State { start, open, limited };
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

    [[nodiscard]] bool bounded() const noexcept { return limited() || (state_ == State::start && wary_); }
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

    State state_ = State::start;
    double rate_ = 0.0;            // bytes/s, while limited
    double capacity_ = 0.0;        // bytes/s that came through during a queue; 0: no queue so far
    double packet_bytes_ = 120.0;  // mean, headers included
    double credit_ = 0.0;          // bytes, while bounded
    std::optional<Instant> refilled_;
    std::uint32_t proven_ = 0;
    std::uint32_t data_ahead_ = 0;  // packets with stream bytes minus those without, from 0 to kManyData
    bool sends_data_ = false;
    bool wary_ = false;         // the handshake took long
    bool late_ = false;         // in the start: the newest reported packet was late
    double unconfirmed_ = 0.0;  // in the start: bytes sent and not reported yet
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

}  // namespace udtx::recovery
