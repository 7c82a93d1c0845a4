#include "recovery/ack_tracker.hpp"

#include <deque>

#include "sim/prng.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::recovery::AckPace;

namespace {

constexpr std::size_t kBytes = 92;
constexpr double kOnLine = kBytes + AckPace::kOverhead;

/// A return path: a queue of one second, random loss, and the delay that other flows add.
struct WayBack {
    double bytes_per_second = 1e6;
    double loss = 0.0;
    Duration others{};       ///< queueing delay of other flows
    Duration others_from{};  ///< from this time on
    Duration longest = 1s;
    Duration jitter{};  ///< maximum
};

/// Asks for an acknowledgement every 8 ms. Each one that arrives is confirmed 50 ms later.
class Run {
  public:
    explicit Run(WayBack way) : way_(way) {}

    void until(Duration end) {
        for (; now_ < Instant(end); now_ += 1ms) {
            while (!confirmed_.empty() && confirmed_.front().at <= now_) {
                const Arrival& a = confirmed_.front();
                pace.on_fate({.now = now_,
                              .sent = a.sent,
                              .delay = a.delay,
                              .packets = 1,
                              .bytes = kBytes,
                              .lost = a.lost_before});
                confirmed_.pop_front();
            }
            const auto ms = now_.time_since_epoch() / 1ms;
            if (ms % 8 == 0) wanted_ = true;
            if (messages && ms % 1000 == 0) pace.on_data_sent(now_, kBytes);
            if (wanted_ && pace.allows(now_)) send();
        }
    }

    AckPace pace;
    bool messages = false;  ///< sends one message each second, as a receiver of files does
    double sent_bytes = 0.0;
    Duration queue{};

  private:
    struct Arrival {
        Instant at;
        Instant sent;
        Duration delay{};
        std::uint32_t lost_before = 0;
    };

    void send() {
        wanted_ = false;
        pace.on_sent(now_, kBytes);
        sent_bytes += kOnLine;
        free_at_ = std::max(free_at_, now_);
        queue = free_at_ - now_;
        if (prng_.chance(way_.loss) || queue > way_.longest) {
            ++lost_;
            return;
        }
        free_at_ += from_seconds(kOnLine / way_.bytes_per_second);
        // The order is kept: a delayed packet delays those behind it.
        const Duration drawn = way_.jitter * static_cast<std::int64_t>(prng_.next() % 101) / 100;
        if (way_.jitter > Duration{}) held_until_ = std::max(held_until_, free_at_ + drawn);
        const Duration jitter = std::max(held_until_ - free_at_, Duration{});
        const Duration extra = jitter + (now_ >= Instant(way_.others_from) ? way_.others : Duration{});
        const Duration delay = free_at_ - now_ + extra + 30ms;
        confirmed_.push_back({now_ + delay + 50ms, now_, delay, std::exchange(lost_, 0)});
    }

    WayBack way_;
    sim::Prng prng_{7};
    Instant now_{1s};
    Instant free_at_;
    Instant held_until_;
    bool wanted_ = false;
    std::uint32_t lost_ = 0;
    std::deque<Arrival> confirmed_;
};

}  // namespace

TEST_CASE("ack pace: a wide way back is never bounded, from the first packet on") {
    const Duration jitter = GENERATE(Duration(0), Duration(60ms));
    CAPTURE(jitter / 1ms);
    Run run({.bytes_per_second = 1e6, .jitter = jitter});
    run.until(21s);
    CHECK(run.pace.open());
    CHECK(run.sent_bytes == Approx(20.0 * 125.0 * kOnLine).epsilon(0.001));
}

TEST_CASE("ack pace: after a slow handshake a narrow way back has a bound at once, and a wide one gets rid of it") {
    Run narrow({.bytes_per_second = 1000.0});
    narrow.pace.on_handshake(1500ms);
    narrow.until(3s);
    CHECK(narrow.queue < 500ms);
    narrow.until(8s);
    CHECK(narrow.pace.limited());
    Run wide({.bytes_per_second = 1e6});
    wide.pace.on_handshake(1500ms);
    wide.until(4s);
    CHECK(wide.pace.open());
}

TEST_CASE("ack pace: a narrow way back carries its share and keeps no queue") {
    const double rate = GENERATE(1000.0, 2000.0, 8000.0);
    CAPTURE(rate);
    Run run({.bytes_per_second = rate});
    run.messages = GENERATE(false, true);
    run.until(12s);
    CHECK(run.pace.limited());
    const double before = run.sent_bytes;
    run.until(22s);
    const double share = (run.sent_bytes - before) / 10.0 / rate;
    CAPTURE(share);
    CHECK(share > 0.5);
    CHECK(share < 0.85);
    CHECK(run.queue < 300ms);
}

TEST_CASE("ack pace: whatever else has left, the next one waits no longer than the longest time between two") {
    Run run({.bytes_per_second = 1000.0});
    run.until(12s);
    REQUIRE(run.pace.limited());
    // A receiver with a small window sends credit every few packets, and the return path carries it.
    for (int i = 0; i < 1000; ++i) run.pace.on_sent(Instant(12s), kBytes);
    CHECK(run.pace.next() > Instant(12s));
    CHECK(run.pace.next() <= Instant(12s) + AckPace::kLongest);
    // The debt is paid off soon.
    const double before = run.sent_bytes;
    run.until(22s);
    CHECK(run.sent_bytes - before > 0.3 * 10.0 * 1000.0);
}

TEST_CASE("ack pace: one that overflows at once is found by what does not come") {
    Run run({.bytes_per_second = 4000.0, .longest = 60ms});
    run.until(10s);
    CHECK(run.pace.limited());
    CHECK(run.pace.rate() < 4000.0);
    CHECK(run.pace.rate() > 1000.0);
}

TEST_CASE("ack pace: losses by chance are no reason to send fewer") {
    const double loss = GENERATE(0.2, 0.5);
    CAPTURE(loss);
    Run run({.bytes_per_second = 1e6, .loss = loss});
    run.until(10s);
    CHECK(run.pace.open());
}

TEST_CASE("ack pace: a queue that others keep is left to them after a trial") {
    Run run({.bytes_per_second = 1e6, .others = 60ms, .others_from = 5s});
    run.until(10s);
    CHECK(run.pace.open());
    const double before = run.sent_bytes;
    run.until(14s);
    CHECK(run.sent_bytes - before > 0.9 * 4.0 * 125.0 * kOnLine);
}

TEST_CASE("ack pace: so few that they fill no way back have no bound, whatever they wait for") {
    Run run({.bytes_per_second = 1e6});
    run.until(5s);
    REQUIRE(run.pace.open());
    // Twice a second one is requested, and each is delayed more, as on a link that others fill.
    Instant now = Instant(6s);
    for (int i = 0; i < 40; ++i) {
        run.pace.on_sent(now, kBytes);
        const Duration delay = 30ms + i * 60ms;
        run.pace.on_fate({.now = now + delay + 50ms, .sent = now, .delay = delay, .packets = 1, .bytes = kBytes});
        CHECK(run.pace.open());
        now += 500ms;
    }
}

TEST_CASE("ack pace: a way back that has become wider is found out") {
    Run narrow({.bytes_per_second = 6000.0});
    narrow.until(12s);
    REQUIRE(narrow.pace.limited());
    Run run({.bytes_per_second = 1e6});
    run.pace = narrow.pace;
    run.until(60s);
    CHECK((run.pace.open() || run.pace.rate() > 10000.0));
}

TEST_CASE("ack pace: whoever sends data has no bound, and has one again afterwards") {
    Run run({.bytes_per_second = 2000.0});
    run.until(12s);
    REQUIRE(run.pace.limited());
    for (int i = 0; i < 20; ++i) run.pace.on_data_sent(Instant(12s), 1200);
    CHECK(run.pace.open());
    run.until(20s);
    CHECK(run.pace.limited());
}

TEST_CASE("ack pace: an ACK is built when it may leave and says all that came, in few bytes") {
    Run run({.bytes_per_second = 2000.0});
    run.until(12s);
    REQUIRE(run.pace.limited());
    recovery::AckTracker tracker(PathId{}, kSynInterval);
    tracker.pace() = run.pace;
    wire::AckFrame frame;
    PacketNumber number = 0;
    std::uint32_t built = 0;
    for (int ms = 0; ms < 10'000; ++ms) {
        const Instant now = Instant(13s + ms * 1ms);
        number += ms % 50 == 0 ? 2 : 1;  // with gaps
        tracker.on_received(now, number, true);
        if (!tracker.due(now)) continue;
        REQUIRE(tracker.build(now, 32, frame));
        tracker.add_arrivals(frame);
        tracker.pace().on_sent(now, kBytes);
        CHECK(frame.largest() == number);
        CHECK(frame.arrival_count <= recovery::AckTracker::kArrivalsWhenNarrow);
        ++built;
    }
    const double share = built * kOnLine / 10.0 / 2000.0;
    CHECK(share > 0.6);
    CHECK(share < 0.75);
}

TEST_CASE("ack pace: a gap is told at once as far as the budget goes") {
    Run run({.bytes_per_second = 2000.0});
    run.until(12s);
    REQUIRE(run.pace.limited());
    recovery::AckTracker tracker(PathId{}, kSynInterval);
    tracker.pace() = run.pace;
    wire::AckFrame frame;
    Instant now(13s);
    tracker.on_received(now, 0, true);
    CHECK_FALSE(tracker.due(now));
    std::uint32_t told = 0;
    for (PacketNumber number = 2; number < 20; number += 2) {
        tracker.on_received(now, number, true);
        if (number == 2) CHECK(tracker.due(now));
        if (!tracker.due(now)) continue;
        REQUIRE(tracker.build(now, 32, frame));
        tracker.pace().on_sent(now, kBytes);
        ++told;
    }
    CHECK(told <= 2);
    REQUIRE(tracker.deadline());
    CHECK(*tracker.deadline() > now);
    CHECK(*tracker.deadline() <= now + AckPace::kLongest);
    CHECK(tracker.due(*tracker.deadline()));
}
