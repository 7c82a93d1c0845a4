// Faults 83 to 88 of the fault matrix: paths that die, flap, differ or bloat, and peers that abuse them.
#include <algorithm>

#include "multipath_rig.hpp"
#include "sim/insider.hpp"
#include "test/fault_case.hpp"
#include "wire/frame.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// Stream bits per link bit: datagrams of 1,472 bytes carry 1,441 bytes of a stream and take 1,500 bytes of the link.
constexpr double kPayload = 1441.0 / 1500.0;
constexpr std::uint64_t kEndless = 1ULL << 36U;

const LinkParams kLine{.bits_per_second = 20'000'000, .delay = 10ms, .queue_bytes = 50'000};

/// Rate of these stream bytes, as a part of the most that a link carries.
double share(std::uint64_t bytes, Duration time, const LinkParams& line) {
    return static_cast<double>(bytes) * 8.0 / to_seconds(time) / (kPayload * static_cast<double>(line.bits_per_second));
}

/// Bytes received in `time` from now on.
std::uint64_t received_in(Scenario& s, const Bulk& bulk, Duration time) {
    const std::uint64_t before = bulk.receiver->received();
    s.run_for(time);
    return bulk.receiver->received() - before;
}

}  // namespace

TEST_CASE("F83 one path dies: the survivor is full again within a second") {
    double least = 1.0;
    for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
        for (const std::size_t dying : {std::size_t{0}, std::size_t{1}}) {
            MultipathRig rig({.name = "F83", .lines = {kLine, kLine}, .seed = 1 + dying});
            Scenario& s = rig.scenario();
            const Bulk bulk = rig.start({.bytes = kEndless, .kind = kind});
            s.run_for(3s);
            rig.cut(dying);
            s.run_for(1s);
            for (int i = 0; i < 4; ++i) {
                least = std::min(least, share(received_in(s, bulk, 250ms), 250ms, kLine));
                SIM_CHECK(s, least >= 0.9);
            }
        }
    }
    test::fault_case(83, "a second after one path failed: at least 0.9 of the other's rate", least);
}

TEST_CASE("F84 all paths die for 30 s and return: the same session fills one within two seconds, both within four") {
    TransportConfig config;
    config.idle_timeout = 60s;
    for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
        MultipathRig rig({.name = "F84", .lines = {kLine, kLine}, .client = config, .server = config});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = kEndless, .kind = kind});
        s.run_for(2s);
        rig.cut(0);
        rig.cut(1);
        s.run_for(30s);
        rig.mend(0);
        rig.mend(1);
        s.run_for(1500ms);
        const double after = share(received_in(s, bulk, 500ms), 500ms, kLine);
        SIM_CHECK(s, after >= 0.9);
        test::fault_case(84,
                         std::string(kind == StreamKind::unordered ? "unordered" : "ordered") +
                             ": 2 s after all paths return: at least 0.9 of one path's rate",
                         after);
        s.run_for(2s);
        SIM_CHECK(s, share(received_in(s, bulk, 1s), 1s, kLine) >= 0.9 * 2);
        SIM_CHECK(s, s.server().sessions().size() == 1);
        SIM_CHECK(s, bulk.receiver->intact());
    }
}

TEST_CASE("F85 a path that flaps at 1 Hz: never worse than the stable one alone") {
    double least = 1e9;
    for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
        MultipathRig alone({.name = "F85 alone", .lines = {kLine}});
        const Bulk single = alone.start({.bytes = kEndless, .kind = kind});
        alone.scenario().run_for(2s);
        const std::uint64_t without = received_in(alone.scenario(), single, 10s);
        for (const Duration dark : {500ms, 200ms}) {
            LinkParams flapping = kLine;
            flapping.blackouts = {{.from = 1500ms, .length = dark, .period = 1s}};
            MultipathRig rig({.name = "F85", .lines = {kLine, flapping}});
            Scenario& s = rig.scenario();
            const Bulk bulk = rig.start({.bytes = kEndless, .kind = kind});
            s.run_for(2s);
            const std::uint64_t with = received_in(s, bulk, 10s);
            INFO(to_seconds(dark) << " s, " << share(with, 10s, kLine) << " against " << share(without, 10s, kLine));
            CHECK(with >= without);
            least = std::min(least, static_cast<double>(with) / static_cast<double>(without));
        }
    }
    test::fault_case(85, "with a path that flaps at 1 Hz: at least the rate of the stable path alone", least, " times");
}

TEST_CASE("F86 ten times the rate and the round trip: at least the best path, and nine tenths of both") {
    double least = 2.0;
    const LinkParams fast{.bits_per_second = 50'000'000, .delay = 5ms, .queue_bytes = 125'000};
    const LinkParams slow{.bits_per_second = 5'000'000, .delay = 50ms, .queue_bytes = 62'500};
    for (const bool slow_first : {false, true}) {
        for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
            const auto lines = slow_first ? std::vector{slow, fast} : std::vector{fast, slow};
            MultipathRig rig({.name = "F86", .lines = lines});
            Scenario& s = rig.scenario();
            const Bulk bulk = rig.start({.bytes = kEndless, .kind = kind});
            s.run_for(2s);
            const double got = share(received_in(s, bulk, 6s), 6s, fast);
            INFO(got << " of the fast line");
            CHECK(got >= 0.9 * 1.1);
            least = std::min(least, got);
        }
    }
    test::fault_case(86, "10:1 in rate and round trip: at least 0.9 of the sum, which is 0.99 of the best path", least,
                     " of the best path");
}

TEST_CASE("F87 two seconds of bufferbloat on one path: the other's round trip stays what it is") {
    LinkParams deep = kLine;
    deep.queue_bytes = 2'000'000;
    for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
        MultipathRig rig({.name = "F87", .lines = {kLine, deep}});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = kEndless, .kind = kind});
        s.run_for(3s);
        Duration worst{};  // of the bloated path
        const auto mean_rtt = [&](Duration time) {
            double sum = 0.0;
            const int steps = 50;
            for (int i = 0; i < steps; ++i) {
                s.run_for(time / steps);
                sum += to_seconds(rig.path(0).smoothed_rtt);
                worst = std::max(worst, rig.path(1).smoothed_rtt);
            }
            return sum / steps;
        };
        const double before = mean_rtt(1s);
        rig.up(1).change([](LinkParams& p) { p.bits_per_second = 1'000'000; });
        const std::uint64_t got = bulk.receiver->received();
        const double during = mean_rtt(2s);
        INFO(before << " s before, " << during << " s during, the other one " << to_seconds(worst));
        CHECK(worst > 100ms);
        CHECK(during <= 1.1 * before);
        test::fault_case(87,
                         std::string(kind == StreamKind::unordered ? "unordered" : "ordered") +
                             ": the other path's round trip is at most 1.1 times its earlier value",
                         during / before);
        SIM_CHECK(s, share(bulk.receiver->received() - got, 2s, kLine) >= 0.95);
    }
}

TEST_CASE("F88 paths are spammed and abandons forged: bounded, and the transfer goes on") {
    TappedProvider tapped(shared_kit().provider());
    MultipathRig rig({.name = "F88", .lines = {kLine, kLine}, .client_provider = &tapped});
    Scenario& s = rig.scenario();
    // An attacker without the keys: the filter copies the client's packets, damages each copy in one byte, as if it
    // abandoned a path, and injects it.
    int forged = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& packet) {
        if (from != s.client().node() || forged == 300 || (packet.data[0] & std::byte{0x80}) != std::byte{0})
            return true;
        std::vector<std::byte> copy(packet.data.begin(), packet.data.end());
        const std::size_t at = 14 + static_cast<std::size_t>(forged++) % (copy.size() - 14);
        copy[at] ^= std::byte{0x1b};
        s.network().inject(1ms, packet.from, s.server().address(), std::move(copy));
        return true;
    });
    const Bulk bulk = rig.start({.bytes = 10'000'000});
    s.run_for(1s);
    SIM_CHECK(s, forged == 300);
    SIM_CHECK(s, rig.server_path(0).state == PathState::active);
    SIM_CHECK(s, rig.server_path(1).state == PathState::active);
    std::ptrdiff_t most_open = 0;
    // A peer with the keys: it opens every possible id from elsewhere and abandons it at once. Then it opens the
    // abandoned ids again.
    for (int round = 0; round < 2; ++round) {
        for (unsigned id = 2; id < 256; ++id) {
            const PathId path{static_cast<std::uint8_t>(id)};
            const auto fill = [&](wire::Writer& w) { (void)wire::write_frame(w, wire::PathAbandonFrame{path, 0}); };
            auto packet = tapped.forge(static_cast<PacketNumber>(round), fill, 1200, path);
            s.network().inject(1ms, make_address(66, 6666), s.server().address(), std::move(packet));
            s.run_for(2ms);
        }
        const auto paths = s.server().session().stats().paths;
        const auto open = std::ranges::count_if(paths, [](const auto& p) { return p.state != PathState::closed; });
        SIM_CHECK(s, open == 2);
        SIM_CHECK(s, paths.size() == 256);
        most_open = std::max(most_open, open);
    }
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    test::fault_case(88, "508 unwanted paths, 300 forged abandons: 2 paths are open, the transfer continues", most_open,
                     " open, done after ", to_seconds(s.elapsed()), " s");
}
