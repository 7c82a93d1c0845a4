#include "sim/card.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

struct Bench final : PacketReceiver {
    explicit Bench(Coalescing how) : coalescing(how) { card.set_receiver(this); }
    void on_packet(Instant now, PacketPtr packet) override {
        stamps.push_back(now - kStart);
        pool.give_back(std::move(packet));
    }
    /// Receives so many packets, `gap` apart.
    void take(int packets, Duration gap) {
        for (int i = 0; i < packets; ++i) {
            events.run_until(events.now() + gap);
            card.take(events.now(), pool.make({}, {}, {}), coalescing);
        }
    }
    /// The number of packets at each instant, in order.
    [[nodiscard]] std::vector<int> bursts() const {
        std::vector<int> sizes;
        for (std::size_t i = 0; i < stamps.size(); ++i) {
            if (i > 0 && stamps[i] == stamps[i - 1])
                ++sizes.back();
            else
                sizes.push_back(1);
        }
        return sizes;
    }

    Coalescing coalescing;
    EventQueue events;
    PacketPool pool;
    Card card{events, 1};
    std::vector<Duration> stamps;
};

}  // namespace

TEST_CASE("card: without coalescing each packet has its own stamp") {
    Bench b({});
    b.take(3, 10us);
    CHECK(b.stamps == std::vector<Duration>{10us, 20us, 30us});
}

TEST_CASE("card: interrupts keep their beat, and hand over what has come") {
    Bench b({.period = 200us});
    b.take(100, 50us);
    b.events.run_until(b.events.now() + 1ms);
    REQUIRE(b.stamps.size() == 100);
    for (const Duration stamp : b.stamps) CHECK((stamp - b.stamps.front()) % 200us == 0us);
    const std::vector<int> bursts = b.bursts();
    for (std::size_t i = 1; i + 1 < bursts.size(); ++i) CHECK(bursts[i] == 4);
    b.events.run_until(b.events.now() + 1h);
    b.take(1, 7us);  // also after a pause
    b.events.run_until(b.events.now() + 1ms);
    CHECK((b.stamps.back() - b.stamps.front()) % 200us == 0us);
}

TEST_CASE("card: so many packets cause an interrupt of their own") {
    Bench b({.period = 10ms, .frames = 3});
    b.take(9, 10us);
    CHECK(b.stamps.size() == 9);
    CHECK(b.bursts() == std::vector<int>{3, 3, 3});
}

TEST_CASE("card: an adaptive period is short for few packets and long for many") {
    Bench b({.period = 400us, .adaptive = true});
    b.take(50, 1ms);
    b.events.run_until(b.events.now() + 1ms);
    CHECK(b.bursts() == std::vector<int>(50, 1));
    b.stamps.clear();
    b.take(1000, 10us);
    const std::vector<int> bursts = b.bursts();
    CHECK(bursts[bursts.size() - 2] == 40);
}

TEST_CASE("card: irregular bursts are of any length") {
    Bench b({.period = 1ms, .irregular = true});
    b.take(2000, 100us);
    const std::vector<int> bursts = b.bursts();
    CHECK(*std::min_element(bursts.begin(), bursts.end()) < 4);
    CHECK(*std::max_element(bursts.begin(), bursts.end()) > 15);
}
