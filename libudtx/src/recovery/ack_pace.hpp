// How often acknowledgements may leave, so that they fit a narrow way back (docs/inside/acknowledgements.md).
//
// The peer acknowledges packets that carry acknowledgements, too, in passing, with the time at which they arrived. So
// this end sees what became of them: their queueing delay, and how many bytes a second came through. From that follow
// three states:
//   start    no bound, unless the handshake was slow; the first few that all come late are enough for a judgement
//   open     no bound; many came soon, a judgement takes a round trip
//   limited  at most kShare of what came through when a queue of ours stood; after some time without a queue more than
//            that, for a way back that has become wider would not be found out otherwise
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
    static constexpr double kShare = 0.7;           ///< of the way back, but for probes
    static constexpr std::uint32_t kOverhead = 28;  ///< bytes of IPv4 and UDP around each packet
    static constexpr std::uint32_t kProven = 64;    ///< packets that came soon: the way back is wide
    static constexpr Duration kLongest = std::chrono::milliseconds(400);  ///< between two, whatever the way back

    /// Where the handshake took long, the start has a bound, too: two packets for each that comes soon,
    /// and a few a second in any case.
    void on_handshake(Duration took);

    /// What one acknowledgement of the peer said about our packets without stream bytes.
    struct Fate {
        Instant now;
        Instant sent;                   ///< of the largest number acknowledged,
        std::optional<Duration> delay;  ///< and its way; the clocks' difference is unknown
        std::uint32_t packets = 0;      ///< that arrived
        std::uint64_t bytes = 0;        ///< UDP payload of those
        std::uint32_t lost = 0;
    };
    void on_fate(const Fate& fate);
    /// A packet without stream bytes leaves.
    void on_sent(Instant now, std::size_t bytes);
    /// A packet with stream bytes leaves. Whoever sends more of those than of others is not bounded: acknowledgements
    /// ride on them, and the queue is that of the data. A few, as a receiver of files sends them, only count.
    void on_data_sent(Instant now, std::size_t bytes) {
        if (!sends_data_ || data_ahead_ < kManyData) count_data(now, bytes);
    }

    [[nodiscard]] bool allows(Instant now) const { return !bounded() || now >= next(); }
    /// When the next acknowledgement may leave; in the past when it may at once.
    [[nodiscard]] Instant next() const;
    /// The way back has proven to be wide enough.
    [[nodiscard]] bool open() const noexcept { return state_ == State::open; }
    /// It is narrow, or looks like it.
    [[nodiscard]] bool slow() const noexcept { return limited() || (state_ == State::start && late_); }
    /// The way back is known to be narrow: acknowledgements are to be small.
    [[nodiscard]] bool limited() const noexcept { return state_ == State::limited; }
    /// Bytes a second, headers included, that may leave; 0: no bound.
    [[nodiscard]] double rate() const noexcept { return limited() ? rate_ : 0.0; }

  private:
    enum class State { start, open, limited };
    static constexpr std::uint32_t kManyData = 16;  // packets more than those without stream bytes

    /// One round trip at least: what came and how fast.
    struct Round {
        Instant began;
        Instant first_sent;
        Instant first_arrival;
        std::uint32_t samples = 0;
        std::uint32_t packets = 0;
        double bytes = 0.0;  ///< that arrived after the first, headers included
        double lost = 0.0;   ///< packets that did not
        Duration least_queue = Duration::max();
    };

    /// Less is sent for a while, to see whether a queue or losses are ours: they are not if as much is left of them.
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
    double capacity_ = 0.0;        // bytes/s that came when a queue stood; 0: never seen
    double packet_bytes_ = 120.0;  // mean, headers included
    double credit_ = 0.0;          // bytes, while bounded
    std::optional<Instant> refilled_;
    std::uint32_t proven_ = 0;
    std::uint32_t data_ahead_ = 0;  // packets with stream bytes, over those without; kManyData at most
    bool sends_data_ = false;
    bool wary_ = false;         // the handshake took long
    bool late_ = false;         // the newest that was told of, in the start
    double unconfirmed_ = 0.0;  // bytes, in the start
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
