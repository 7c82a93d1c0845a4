// States and bounds of BBRv3 (draft-ietf-ccwg-bbr) on an ideal path of 10,000 packets/s of 1,000 bytes and 50 ms: a
// bandwidth-delay product of 500 packets.
#include "congestion/bbr.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "test/catch.hpp"
#include "unit/congestion/bottleneck.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;
using State = Bbr::State;

namespace {

constexpr double kRate = 10'000;
constexpr double kBytesPerSecond = kRate * Bottleneck::kBytes;
constexpr double kBdp = kBytesPerSecond * 0.05;

struct Fixture {
    explicit Fixture(double queue_packets = 1000) : path(bbr, kRate, 50ms, queue_packets) {}

    bool until(State state, Duration limit = 15s) {
        return path.run(limit, [&] { return bbr.state() == state; });
    }
    /// The states in `time`, without consecutive duplicates.
    std::vector<State> states(Duration time) {
        std::vector<State> seen{bbr.state()};
        path.run(time, [&] {
            if (bbr.state() != seen.back()) seen.push_back(bbr.state());
            return false;
        });
        return seen;
    }

    Bbr bbr{CongestionOptions{.datagram_bytes = Bottleneck::kBytes}};
    Bottleneck path;
};

/// Packets and acknowledgements one by one, 10 ms apart.
struct ByHand {
    PacketNumber send() {
        bbr.on_sent({now, next, Bottleneck::kBytes, in_flight});
        in_flight += Bottleneck::kBytes;
        return next++;
    }
    /// Acknowledges `packets` packets up to `largest`.
    void acknowledge(PacketNumber largest, double bytes_per_second, std::uint32_t packets = 1) {
        now += 10ms;
        CongestionFeedback f;
        f.now = now;
        f.acked_packets = packets;
        f.acked_bytes = std::uint64_t{packets} * Bottleneck::kBytes;
        f.largest_acked = largest;
        f.in_flight_before = in_flight;
        in_flight -= f.acked_bytes;
        f.in_flight_after = in_flight;
        f.rtt_sample = f.smoothed_rtt = 10ms;
        f.delivery = DeliverySample{.rate = Rate::bytes_per_second(bytes_per_second), .interval = 10ms};
        bbr.on_feedback(f);
    }

    Bbr bbr{CongestionOptions{.datagram_bytes = Bottleneck::kBytes}};
    Instant now = Instant(1s);
    PacketNumber next = 1;
    std::uint64_t in_flight = 0;
};

}  // namespace

TEST_CASE("bbr: starts with ten packets, finds the bandwidth, drains, cruises") {
    Fixture f;
    CHECK(f.bbr.window() == 10'000);
    CHECK(f.bbr.pacing_rate().is_infinite());
    CHECK(f.bbr.report().slow_start);
    const auto seen = f.states(1500ms);
    CHECK(seen == std::vector{State::startup, State::drain, State::cruise});  // DOWN ends when Drain would
    CHECK(f.bbr.model().max_bandwidth() == Approx(kBytesPerSecond).epsilon(0.03));
    CHECK(to_seconds(*f.bbr.model().min_rtt()) == Approx(0.05).epsilon(0.02));
    CHECK(f.bbr.report().mtr.bytes_per_second() == Approx(f.bbr.model().max_bandwidth()));
    CHECK_FALSE(f.bbr.report().slow_start);
}

TEST_CASE("bbr: Drain ends when no more than the bandwidth-delay product is in flight") {
    Fixture f;
    REQUIRE(f.until(State::drain));
    CHECK(static_cast<double>(f.path.in_flight()) > 1.3 * kBdp);
    CHECK(f.bbr.pacing_rate().bytes_per_second() == Approx(0.5 * 0.99 * f.bbr.model().bandwidth()));
    REQUIRE(f.until(State::cruise));
    CHECK(static_cast<double>(f.path.in_flight()) <= 1.05 * kBdp);
}

TEST_CASE("bbr: three rounds whose first samples do not grow fill the pipe, whatever comes between") {
    ByHand f;
    f.acknowledge(f.send(), 100'000);
    double between = 100'000;
    for (int round = 0; round < 3; ++round) {
        CHECK(f.bbr.state() == State::startup);
        const PacketNumber first = f.send();
        const PacketNumber second = f.send();
        f.acknowledge(first, 100'000);
        f.acknowledge(second, between *= 1.3);
    }
    CHECK(f.bbr.state() != State::startup);
}

TEST_CASE("bbr: Startup remembers aggregated acknowledgements for one round, the other states for ten") {
    ByHand f;
    for (int i = 0; i < 9; ++i) f.send();
    f.acknowledge(f.send(), 100'000, 10);
    CHECK(f.bbr.model().extra_acked() == 10'000);
    for (int round = 0; round < 2; ++round) f.acknowledge(f.send(), 150'000 * (1 + round));
    CHECK(f.bbr.state() == State::startup);
    CHECK(f.bbr.model().extra_acked() < 2'000);

    for (int round = 0; round < 3; ++round) f.acknowledge(f.send(), 300'000);
    REQUIRE(f.bbr.state() != State::startup);
    for (int i = 0; i < 9; ++i) f.send();
    f.acknowledge(f.send(), 300'000, 10);
    const double extra = f.bbr.model().extra_acked();
    CHECK(extra > 5'000);
    for (int round = 0; round < 9; ++round) f.acknowledge(f.send(), 300'000);
    CHECK(f.bbr.model().extra_acked() == extra);
}

TEST_CASE("bbr: Drain ends after three rounds, though the path became slower than Startup found") {
    Fixture f;
    REQUIRE(f.until(State::drain));
    f.path.set_rate(0.4 * kRate);
    const Instant entered = f.path.now();
    REQUIRE(f.path.run(3s, [&] { return f.bbr.state() != State::drain; }));
    CHECK(f.path.now() - entered > 200ms);
    CHECK(static_cast<double>(f.path.in_flight()) > kBdp);
}

TEST_CASE("bbr: the ProbeBW cycle paces at 0.9, 1, 1, 1.25 and comes round each two to three seconds") {
    Fixture f;
    REQUIRE(f.until(State::up));
    const Instant first = f.path.now();
    for (const auto& [state, gain] : {std::pair{State::up, 1.25}, {State::down, 0.9}, {State::cruise, 1.0}}) {
        REQUIRE(f.until(state));
        CHECK(f.bbr.pacing_rate().bytes_per_second() == Approx(gain * 0.99 * f.bbr.model().bandwidth()));
    }
    REQUIRE(f.until(State::refill));
    CHECK(f.bbr.pacing_rate().bytes_per_second() == Approx(0.99 * f.bbr.model().bandwidth()));
    REQUIRE(f.until(State::up));
    CHECK(f.path.now() - first >= 2s);
    CHECK(f.path.now() - first <= 7s);  // a ProbeRTT in between restarts the wait
}

TEST_CASE("bbr: Reno would be back after as many rounds as the window has packets: then it probes at the latest") {
    Bbr bbr(CongestionOptions{.datagram_bytes = Bottleneck::kBytes});
    Bottleneck path(bbr, 2000, 10ms, 1000);  // BDP of 20 packets: 0.2 s of rounds
    REQUIRE(path.run(5s, [&] { return bbr.state() == State::up; }));
    const Instant first = path.now();
    REQUIRE(path.run(5s, [&] { return bbr.state() == State::cruise; }));
    REQUIRE(path.run(5s, [&] { return bbr.state() == State::up; }));
    CHECK(path.now() - first < 1500ms);
}

TEST_CASE("bbr: without losses there is no long-term bound, the queue stays below a bandwidth-delay product") {
    Fixture f;
    f.path.run(2s);
    std::uint64_t most = 0;
    const std::uint64_t before = f.path.delivered();
    f.path.run(10s, [&] {
        most = std::max(most, f.path.in_flight());
        return false;
    });
    CHECK(f.bbr.inflight_long_term() == BbrModel::kUnlimited);
    CHECK(static_cast<double>(most) < 2.3 * kBdp);  // the window gain of UP is 2.25
    CHECK(static_cast<double>(f.path.delivered() - before) > 0.95 * 10 * kBytesPerSecond);
}

TEST_CASE("bbr: losses of more than 2 % while probing end UP, bound the in-flight and leave headroom") {
    Fixture f(50);  // a tenth of the BDP
    f.path.run(3s);
    REQUIRE(f.until(State::up));
    REQUIRE(f.until(State::down));
    const double bound = f.bbr.inflight_long_term();
    CHECK(bound > 0.7 * kBdp);
    CHECK(bound < 1.4 * kBdp);  // the BDP, the queue, and one SYN of unacknowledged packets
    REQUIRE(f.until(State::cruise));
    f.path.run(300ms);
    CHECK(f.bbr.state() == State::cruise);
    CHECK(static_cast<double>(f.bbr.window()) <= 0.85 * f.bbr.inflight_long_term() + 1);
}

TEST_CASE("bbr: after a probe with losses the next one stops at the bound, and if it is safe a full one follows") {
    Fixture f(50);
    f.path.run(3s);
    REQUIRE(f.until(State::up));
    REQUIRE(f.until(State::down));
    REQUIRE(f.bbr.inflight_long_term() < BbrModel::kUnlimited);

    const bool safe = GENERATE(true, false);
    REQUIRE(f.until(State::up));
    const Instant up = f.path.now();
    const std::uint64_t lost = f.path.lost_packets();
    if (!safe) f.path.lose_every(10);
    REQUIRE(f.until(State::down));
    const Instant down = f.path.now();
    CHECK(down - up <= 40ms);  // before the first acknowledgement of a packet of UP
    REQUIRE(f.until(State::refill));
    if (!safe) {
        CHECK(f.path.now() - down > 1s);
        return;
    }
    CHECK(f.path.now() - down < 200ms);  // without the wait of two seconds
    CHECK(f.path.lost_packets() == lost);
    REQUIRE(f.until(State::up));
    const Instant again = f.path.now();
    REQUIRE(f.until(State::down));
    CHECK(f.path.now() - again > 60ms);
}

TEST_CASE("bbr: a burst of losses bounds the in-flight where it passed 2 %, not by its length") {
    Bbr bbr(CongestionOptions{.datagram_bytes = Bottleneck::kBytes});
    Bottleneck path(bbr, 2000, 50ms, 1000);  // BDP of 100 packets; an acknowledgement covers 20
    REQUIRE(path.run(15s, [&] { return bbr.state() == State::up; }));
    path.lose_next(20);
    const auto in_flight = static_cast<double>(path.in_flight());
    REQUIRE(path.run(1s, [&] { return bbr.state() == State::down; }));
    CHECK(bbr.inflight_long_term() > 0.95 * in_flight);
    CHECK(bbr.inflight_long_term() < 1.1 * in_flight);
}

TEST_CASE("bbr: heavy loss ends Startup with a bound") {
    Fixture f;
    f.path.lose_every(5);
    REQUIRE(f.until(State::drain));
    CHECK(f.bbr.inflight_long_term() < BbrModel::kUnlimited);
}

TEST_CASE("bbr: ProbeRTT each five seconds halves the in-flight for 200 ms and gives the window back") {
    Fixture f;
    REQUIRE(f.until(State::probe_rtt, 8s));
    CHECK(f.path.now() - Instant(1s) > 5s);
    const Instant entered = f.path.now();
    std::uint64_t least = f.path.in_flight();
    f.path.run(5s, [&] {
        least = std::min(least, f.path.in_flight());
        return f.bbr.state() != State::probe_rtt;
    });
    CHECK(f.path.now() - entered >= 200ms);
    CHECK(f.path.now() - entered <= 500ms);
    CHECK(static_cast<double>(least) <= 0.55 * kBdp);
    CHECK(f.bbr.state() == State::cruise);
    CHECK(static_cast<double>(f.bbr.window()) > 1.5 * kBdp);
    // The low rate during ProbeRTT does not lower the path's estimate.
    CHECK(f.bbr.model().max_bandwidth() == Approx(kBytesPerSecond).epsilon(0.03));
}

TEST_CASE("bbr: a longer way is believed after ten seconds, a shorter one at once") {
    Fixture f;
    f.path.run(3s);
    f.path.set_rtt(80ms);
    f.path.run(4s);
    CHECK(to_seconds(*f.bbr.model().min_rtt()) == Approx(0.05).epsilon(0.02));
    f.path.run(13s);
    CHECK(to_seconds(*f.bbr.model().min_rtt()) == Approx(0.08).epsilon(0.05));
    f.path.set_rtt(30ms);
    f.path.run(1s);
    CHECK(to_seconds(*f.bbr.model().min_rtt()) < 0.045);  // the next ProbeRTT drains the queue that builds up before
}

TEST_CASE("bbr: a line twice as fast is found, one half as fast is forgotten within its filter") {
    Fixture f;
    f.path.run(3s);
    f.path.set_rate(2 * kRate);
    f.path.run(12s);  // a factor of 1.25 per cycle: four cycles of three seconds
    CHECK(f.bbr.model().max_bandwidth() == Approx(2 * kBytesPerSecond).epsilon(0.05));
    f.path.set_rate(kRate);
    f.path.run(15s);  // two cycles, each with a ProbeRTT
    CHECK(f.bbr.model().max_bandwidth() == Approx(kBytesPerSecond).epsilon(0.05));
}

TEST_CASE("bbr: loss below the threshold does not lower the rate, heavy loss does, to no less than 0.7 a round") {
    Fixture f;
    f.path.run(3s);
    REQUIRE(f.until(State::cruise));
    f.path.lose_every(100);
    f.path.run(500ms);
    CHECK(f.bbr.model().bandwidth() > 0.97 * kBytesPerSecond);
    f.path.lose_every(4);
    f.path.run(70ms);
    const double before = f.bbr.model().bandwidth();
    f.path.run(60ms);
    CHECK(f.bbr.model().bandwidth() >= 0.69 * before);
    f.path.run(400ms);
    CHECK(f.bbr.model().bandwidth() < 0.9 * kBytesPerSecond);
}

TEST_CASE("bbr: losses lower the rate of a flow with little data, too") {
    Fixture f;
    f.path.run(3s);
    REQUIRE(f.until(State::cruise));
    f.path.set_application_limited(true);
    f.path.lose_every(4);
    f.path.run(500ms);
    CHECK(f.bbr.model().bandwidth() < 0.9 * kBytesPerSecond);
}

TEST_CASE("bbr: losses after ProbeRTT do not make its half window the rate") {
    Fixture f;
    f.path.lose_every(100);
    REQUIRE(f.until(State::probe_rtt));
    REQUIRE(f.until(State::cruise));
    f.path.run(300ms);
    CHECK(f.bbr.state() == State::cruise);
    CHECK(f.bbr.model().bandwidth() > 0.95 * kBytesPerSecond);
}

TEST_CASE("bbr: two probe timeouts leave four packets until something is acknowledged") {
    Fixture f;
    f.path.run(2s);
    CongestionFeedback silence;
    silence.now = f.path.now();
    silence.persistent_timeout = true;
    const std::uint64_t window = f.bbr.window();
    f.bbr.on_feedback(silence);
    CHECK(f.bbr.window() == 4000);
    f.path.run(20ms);
    CHECK(static_cast<double>(f.bbr.window()) > 0.9 * static_cast<double>(window));
}

TEST_CASE("bbr: a pause is no reason for ProbeRTT, and its end does not catch up") {
    Fixture f;
    f.path.run(3s);
    f.path.set_sending(false);
    f.path.run(8s);
    f.path.set_sending(true);
    const auto seen = f.states(300ms);
    CHECK(std::find(seen.begin(), seen.end(), State::probe_rtt) == seen.end());
    CHECK(f.bbr.pacing_rate().bytes_per_second() < 1.3 * kBytesPerSecond);
}

TEST_CASE("bbr: a pause during ProbeRTT ends it with the first packet afterwards") {
    Fixture f;
    REQUIRE(f.until(State::probe_rtt));
    REQUIRE(f.path.run(1s, [&] { return static_cast<double>(f.path.in_flight()) < 0.5 * kBdp; }));
    f.path.set_sending(false);
    f.path.run(2s);
    REQUIRE(f.bbr.state() == State::probe_rtt);
    f.path.set_sending(true);
    f.path.run(1ms);
    CHECK(f.bbr.state() == State::cruise);
    CHECK(static_cast<double>(f.bbr.window()) > 1.5 * kBdp);
}

TEST_CASE("bbr: the same seed waits the same times, another seed others") {
    const auto cycle = [](std::uint64_t seed) {
        Bbr bbr(CongestionOptions{.datagram_bytes = Bottleneck::kBytes, .seed = seed});
        Bottleneck path(bbr, kRate, 50ms, 1000);
        path.run(20s, [&] { return bbr.state() == State::refill; });
        return path.now();
    };
    CHECK(cycle(1) == cycle(1));
    CHECK((cycle(1) != cycle(2) || cycle(1) != cycle(3)));
}
