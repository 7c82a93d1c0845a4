// Loss, bursts, reordering, duplicates, corruption.
#include <algorithm>
#include <sstream>

#include "sim/check.hpp"
#include "test/fault_case.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// 20 Mbit/s, 20 ms in each direction, a queue of a quarter of a second.
LinkParams line() { return {.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 600'000}; }

/// The transfer completes, intact, before the deadline.
/// As one of the cases: F68, F71
void completes(int fault, const std::string& name, const LinkParams& up, const LinkParams& down, std::uint64_t bytes,
               Duration deadline, StreamKind kind = StreamKind::unordered) {
    Duration slowest{};
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        ScenarioSetup setup{.name = name, .seed = seed, .up = up, .down = down};
        // Giving up is not under test here. A burst counts in packets: at two probes a second, a burst of a thousand
        // packets lasts for minutes.
        for (TransportConfig* config : {&setup.client, &setup.server}) {
            config->handshake_timeout = 600s;
            config->idle_timeout = 3h;
        }
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = bytes, .kind = kind});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, deadline));
        slowest = std::max<Duration>(slowest, s.elapsed());
    }
    std::ostringstream bound;
    bound << name << ": " << bytes << " bytes within " << to_seconds(deadline) << " s";
    if (fault > 0) test::fault_case(fault, bound.str(), to_seconds(slowest), " s");
}

LinkParams with_loss(double p) {
    LinkParams l = line();
    l.loss = p;
    return l;
}

}  // namespace

TEST_CASE("F68 loss 0 %") { completes(68, "loss 0 %", line(), line(), 5'000'000, 15s); }
TEST_CASE("F68 loss 1 % both ways completes") {
    completes(68, "loss 1 %", with_loss(0.01), with_loss(0.01), 5'000'000, 60s);
}
TEST_CASE("F68 loss 10 % both ways completes") {
    completes(68, "loss 10 %", with_loss(0.10), with_loss(0.10), 2'000'000, 120s);
}
TEST_CASE("F68 loss 30 % both ways completes") {
    completes(68, "loss 30 %", with_loss(0.30), with_loss(0.30), 1'000'000, 300s);
}
TEST_CASE("F68 loss 50 % both ways completes") {
    completes(68, "loss 50 %", with_loss(0.50), with_loss(0.50), 200'000, 600s);
}
TEST_CASE("F68 loss 75 % one way completes") { completes(68, "loss 75 % up", with_loss(0.75), line(), 200'000, 600s); }
TEST_CASE("F68 loss 10 %, ordered") {
    completes(68, "loss 10 %, ordered", with_loss(0.10), with_loss(0.10), 1'000'000, 120s, StreamKind::ordered);
}

// A burst counts in packets. Once the flight is lost, probes use up the rest of the burst, two every 400 ms. Therefore
// each packet of it may cost at most 200 ms.
TEST_CASE("F69 bursts of 2 to 1000 packets cost no more than probing through them takes") {
    double dearest = 0.0;
    for (const double mean : {2.0, 20.0, 200.0, 1000.0}) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            LinkParams l = line();
            l.burst = {.enter = std::max(0.02 / mean, 1.0 / 2000), .leave = 1.0 / mean};
            ScenarioSetup setup{.name = "bursts of " + std::to_string(static_cast<int>(mean)), .seed = seed};
            setup.up = l;
            setup.down = line();
            for (TransportConfig* config : {&setup.client, &setup.server}) {
                config->handshake_timeout = 600s;
                config->idle_timeout = 3h;
            }
            Scenario s(std::move(setup));
            const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 3h));
            const auto lost = static_cast<Duration::rep>(s.up().counters().dropped_burst);
            SIM_CHECK(s, lost > static_cast<Duration::rep>(mean));
            SIM_CHECK(s, s.elapsed() <= 10s + lost * Duration(200ms));
            dearest = std::max(dearest, (to_seconds(s.elapsed()) - 10.0) / static_cast<double>(lost));
            if (mean <= 20.0) SIM_CHECK(s, s.elapsed() <= 30s);
        }
    }
    test::fault_case(69, "bursts of 2 to 1,000: at most 10 s and 0.2 s for each packet lost", dearest, " s for each");
}

TEST_CASE("F70 reordering up to an RTT: at most 2 % spurious retransmissions") {
    LinkParams l = line();
    l.reorder = 0.1;
    l.reorder_by = 40ms;
    double most = 0.0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Scenario s(symmetric("reordering up to an RTT", l, seed));
        const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 120s));
        const auto p = s.client().session().stats().paths.at(0);
        SIM_CHECK(s, static_cast<double>(p.spurious_losses) <= 0.02 * static_cast<double>(p.sent_packets));
        most = std::max(most, 100.0 * static_cast<double>(p.spurious_losses) / static_cast<double>(p.sent_packets));
    }
    test::fault_case(70, "reordering up to a round trip: at most 2 % spurious retransmissions", most, " %");
}

TEST_CASE("F71 20 % duplicates and 2 % corruption") {
    LinkParams l = line();
    l.duplicate = 0.2;
    l.corrupt = 0.02;
    completes(71, "duplicates and corruption", l, l, 3'000'000, 60s);
}

TEST_CASE("F75 a way back that loses 20 % and is a hundred times slower leaves 80 % of the speed") {
    const auto seconds = [](const LinkParams& back, std::uint64_t seed) {
        Scenario s({.name = "thin lossy way back", .seed = seed, .up = line(), .down = back});
        const Bulk bulk = start_bulk(s, {.bytes = 20'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        return to_seconds(*bulk.receiver->complete_at() - *s.client().session().connected_at);
    };
    double least = 1e9;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        const double clean = seconds(line(), seed);
        const double thin =
            seconds({.bits_per_second = 200'000, .delay = 20ms, .queue_bytes = 20'000, .loss = 0.2}, seed);
        INFO("seed " << seed << ": " << clean << " s with a clean way back, " << thin << " s with the thin one");
        CHECK(clean >= 0.8 * thin);
        least = std::min(least, clean / thin);
    }
    test::fault_case(75, "a reverse path of 1:100 with 20 % loss: at least 0.8 of the rate without loss", least);
}

TEST_CASE("an ordered stream stays in order under loss with a small receive window") {
    LinkParams l = line();
    l.loss = 0.05;
    l.reorder = 0.05;
    l.reorder_by = 30ms;
    auto setup = symmetric("ordered, small window", l);
    setup.server.stream_window = 64U << 10U;
    setup.server.connection_window = 128U << 10U;
    setup.server.max_memory = 0;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000, .kind = StreamKind::ordered});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 120s));
}

TEST_CASE("a shallow queue of 20 packets") {
    LinkParams l = line();
    l.queue_bytes = 30'000;
    completes(0, "shallow queue", l, l, 5'000'000, 60s);
}
