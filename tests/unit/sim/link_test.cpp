#include "sim/link.hpp"

#include <array>
#include <optional>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Duration;
using udtx::Instant;
using namespace udtx::sim;
using udtx::proto::Ecn;

namespace {

struct Arrival {
    Duration at;
    std::vector<std::byte> data;
    Ecn ecn;
};

struct Bench final : PacketReceiver {
    explicit Bench(LinkParams params, std::uint64_t seed = 1) : link("test", events, pool, std::move(params), seed) {
        link.set_receiver(this);
    }
    void on_packet(Instant now, PacketPtr packet) override {
        arrivals.push_back({now - kStart, packet->data, packet->ecn});
        pool.give_back(std::move(packet));
    }
    void send(std::size_t bytes, std::size_t times = 1, Ecn ecn = Ecn::not_ect) {
        const std::vector<std::byte> data(bytes, std::byte{0x55});
        for (std::size_t i = 0; i < times; ++i) link.send(events.now(), pool.make({}, {}, data, ecn));
    }
    void run() { events.run_until(events.now() + 100s); }

    EventQueue events;
    PacketPool pool;
    Link link;
    std::vector<Arrival> arrivals;
};

LinkParams plain() {
    LinkParams p;
    p.bits_per_second = 8'000'000;  // one byte per microsecond
    p.delay = 10ms;
    p.overhead = 0;
    return p;
}

}  // namespace

TEST_CASE("link: serialisation and propagation") {
    Bench b(plain());
    b.send(1000, 3);
    CHECK(b.link.queued_bytes(b.events.now()) == 3000);
    b.run();
    REQUIRE(b.arrivals.size() == 3);
    CHECK(b.arrivals[0].at == 11ms);
    CHECK(b.arrivals[1].at == 12ms);
    CHECK(b.arrivals[2].at == 13ms);
    CHECK(b.link.counters().max_queue == 3000);
    // 3000 bytes drain in 3 ms. The area of that triangle is 3000 x 3 ms / 2 once change() has updated the counter.
    b.link.change([](LinkParams&) {});
    CHECK(b.link.counters().queue_byte_seconds == Approx(3000 * 0.003 / 2));
}

TEST_CASE("link: drop-tail queue") {
    auto p = plain();
    p.queue_bytes = 2500;
    Bench b(p);
    b.send(1000, 5);
    b.run();
    CHECK(b.arrivals.size() == 2);
    CHECK(b.link.counters().dropped_queue == 3);
    b.send(1000);
    b.run();
    CHECK(b.arrivals.size() == 3);
}

TEST_CASE("link: a long queue marks packets that are ECN-capable and drops others") {
    auto p = plain();
    p.longest_wait = 3ms;
    const Ecn ecn = GENERATE(Ecn::not_ect, Ecn::ect0);
    Bench b(p);
    b.send(1000, 6, ecn);  // they wait 0 to 5 ms
    b.run();
    if (ecn == Ecn::not_ect) {
        CHECK(b.arrivals.size() == 4);
        CHECK(b.link.counters().dropped_queue == 2);
        return;
    }
    REQUIRE(b.arrivals.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) CHECK(b.arrivals[i].ecn == (i < 4 ? Ecn::ect0 : Ecn::ce));
    CHECK(b.link.counters().marked == 2);
}

TEST_CASE("link: faults touch only packets that are ECN-capable") {
    auto p = plain();
    const auto arrived = [&p](EcnFault fault, Ecn ecn) {
        p.ecn_fault = fault;
        Bench b(p);
        b.send(1000, 1, ecn);
        b.run();
        return b.arrivals.empty() ? std::nullopt : std::optional(b.arrivals[0].ecn);
    };
    for (const auto fault : {EcnFault::none, EcnFault::bleach, EcnFault::always_ce, EcnFault::drop})
        CHECK(arrived(fault, Ecn::not_ect) == Ecn::not_ect);
    CHECK(arrived(EcnFault::none, Ecn::ect0) == Ecn::ect0);
    CHECK(arrived(EcnFault::bleach, Ecn::ect0) == Ecn::not_ect);
    CHECK(arrived(EcnFault::always_ce, Ecn::ect0) == Ecn::ce);
    CHECK(arrived(EcnFault::drop, Ecn::ect0) == std::nullopt);
}

TEST_CASE("link: random loss near its probability, same again with the same seed") {
    auto p = plain();
    p.loss = 0.3;
    p.queue_bytes = 1ULL << 40U;
    Bench a(p, 5);
    Bench b(p, 5);
    Bench c(p, 6);
    for (Bench* x : {&a, &b, &c}) {
        x->send(100, 10000);
        x->run();
    }
    CHECK(a.link.counters().dropped_loss > 2800);
    CHECK(a.link.counters().dropped_loss < 3200);
    CHECK(a.link.counters() == b.link.counters());
    CHECK(a.link.counters() != c.link.counters());
}

TEST_CASE("link: Gilbert-Elliott losses come in bursts") {
    auto p = plain();
    p.bits_per_second = 0;
    p.burst = {.enter = 0.01, .leave = 0.1, .loss_in_bad = 1.0, .loss_in_good = 0.0};
    Bench b(p);
    const std::size_t n = 100000;
    std::size_t bursts = 0;
    std::uint64_t before = 0;
    bool in_burst = false;
    for (std::size_t i = 0; i < n; ++i) {
        b.send(10);
        const bool lost = b.link.counters().dropped_burst != before;
        before = b.link.counters().dropped_burst;
        if (lost && !in_burst) ++bursts;
        in_burst = lost;
    }
    const double mean = static_cast<double>(before) / static_cast<double>(bursts);
    CHECK(mean == Approx(10.0).epsilon(0.1));
    CHECK(static_cast<double>(before) / static_cast<double>(n) == Approx(1.0 / 11.0).epsilon(0.1));
}

TEST_CASE("link: reordering overtakes, plain lines never do") {
    auto p = plain();
    p.reorder = 0.2;
    p.reorder_by = 20ms;
    Bench b(p);
    std::vector<std::byte> data(100);
    for (int i = 0; i < 100; ++i) {
        data[0] = static_cast<std::byte>(i);
        b.link.send(b.events.now(), b.pool.make({}, {}, data));
    }
    b.run();
    REQUIRE(b.arrivals.size() == 100);
    int overtaken = 0;
    for (std::size_t i = 1; i < b.arrivals.size(); ++i) {
        if (b.arrivals[i].data[0] < b.arrivals[i - 1].data[0]) ++overtaken;
    }
    CHECK(overtaken > 5);
    CHECK(b.link.counters().reordered > 5);
}

TEST_CASE("link: duplicates and corruption") {
    auto p = plain();
    p.queue_bytes = 1ULL << 40U;
    p.duplicate = 0.2;
    p.corrupt = 0.1;
    Bench b(p);
    b.send(100, 1000);
    b.run();
    CHECK(b.arrivals.size() == 1000 + b.link.counters().duplicated);
    CHECK(b.link.counters().duplicated == Approx(200).margin(50));
    std::size_t changed = 0;
    for (const auto& a : b.arrivals) {
        if (a.data != std::vector<std::byte>(100, std::byte{0x55})) ++changed;
    }
    // Rarely, two flips of the same bit cancel each other.
    CHECK(changed == Approx(b.link.counters().corrupted).margin(3));
    CHECK(changed > 50);
}

TEST_CASE("link: too large vanishes, also after the MTU falls") {
    auto p = plain();
    p.mtu = 1400;
    Bench b(p);
    b.send(1400);
    b.send(1401);
    b.link.change([](LinkParams& x) { x.mtu = 1200; });
    b.send(1400);
    b.run();
    CHECK(b.arrivals.size() == 1);
    CHECK(b.link.counters().dropped_mtu == 2);
}

TEST_CASE("link: blackouts once and repeating") {
    auto p = plain();
    p.blackouts = {{.from = 5s, .length = 2s, .period = 7s}, {.from = 1s, .length = 1s}};
    Bench b(p);
    std::vector<bool> passed;
    for (int i = 0; i < 20; ++i) {
        const auto before = b.link.counters().dropped_blackout;
        b.send(10);
        passed.push_back(b.link.counters().dropped_blackout == before);
        b.events.run_until(b.events.now() + 1s);
    }
    const std::vector<bool> expected{true, false, true,  true,  true, false, false, true, true, true,
                                     true, true,  false, false, true, true,  true,  true, true, false};
    CHECK(passed == expected);
}

TEST_CASE("link: a change of rate holds for what waits as later packets see it") {
    Bench b(plain());
    b.send(1000, 4);
    b.link.change([](LinkParams& x) { x.bits_per_second = 800'000; });
    CHECK(b.link.queued_bytes(b.events.now()) == 4000);
    b.send(1000);
    b.run();
    REQUIRE(b.arrivals.size() == 5);
    CHECK(b.arrivals[4].at == 60ms);  // 5000 bytes at 10 us each, then 10 ms
}

TEST_CASE("link: a trace of rates serves what waits at the rates of its time, and a rate of 0 suspends the link") {
    const std::vector<RateStep> rates{{0ms, 8'000'000}, {1ms, 0}, {5ms, 800'000}, {25ms, 80'000'000}};
    LinkParams p = plain();
    p.rates = rates;
    p.queue_bytes = 6000;
    Bench b(p);
    b.send(1000, 8);
    CHECK(b.link.counters().dropped_queue == 2);
    CHECK(b.link.queued_bytes(b.events.now()) == 6000);
    CHECK(b.link.queue_delay(b.events.now()) == 25ms + 300us);
    b.events.run_until(kStart + 6ms);
    CHECK(b.link.queued_bytes(b.events.now()) == 4900);
    b.run();
    REQUIRE(b.arrivals.size() == 6);
    CHECK(b.arrivals[0].at == 11ms);
    CHECK(b.arrivals[1].at == 25ms);  // 10 ms on the line from 5 ms on, and 10 ms of delay
    CHECK(b.arrivals[2].at == 35ms);
    CHECK(b.arrivals[3].at == 35ms + 100us);
    CHECK(b.arrivals[5].at == 35ms + 300us);
    CHECK(bytes_between(rates, 500us, 7ms) == 700);
    CHECK(bytes_between(rates, 30ms, 1030ms) == 10'000'000);
    CHECK(sent_at(rates, 2ms, 100) == 6ms);
    CHECK_THROWS_AS(sent_at({{0ms, 8000}, {1ms, 0}}, 0ms, 10), std::logic_error);
}

TEST_CASE("link: a law of the jitter replaces the uniform one and keeps the order") {
    LinkParams p = plain();
    bool late = true;
    p.jitter_law = [&](Prng&) { return std::exchange(late, false) ? udtx::Duration(8ms) : udtx::Duration::zero(); };
    Bench b(p);
    b.send(1000, 3);
    b.run();
    REQUIRE(b.arrivals.size() == 3);
    CHECK(b.arrivals[0].at == 19ms);
    CHECK(b.arrivals[1].at == 19ms);  // waits for the first
    CHECK(b.arrivals[2].at == 19ms);
}

TEST_CASE("link: the mean of burst losses is that of the chain") {
    CHECK(BurstLoss{}.mean() == 0.0);
    CHECK(BurstLoss{.enter = 0.01, .leave = 0.09, .loss_in_bad = 0.5}.mean() == Approx(0.05));
}
