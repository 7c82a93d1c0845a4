// Paths that die, return, never work, or are removed; primary and standby paths.
#include <algorithm>

#include "multipath_rig.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kLine{.bits_per_second = 20'000'000, .delay = 10ms, .queue_bytes = 50'000};
constexpr double kPayload = 1441.0 / 1500.0;

std::ptrdiff_t count_of(const Session& session, PathState state, std::uint8_t id) {
    return std::ranges::count_if(
        session.path_changes, [&](const auto& e) { return e.state == state && e.id == PathId{id} && !e.unreachable; });
}

}  // namespace

TEST_CASE("a path that dies in mid-transfer costs less than a second, whichever it is") {
    for (const std::size_t dying : {std::size_t{0}, std::size_t{1}}) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            const std::uint64_t bytes = 20'000'000;
            MultipathRig rig({.name = "one of two dies", .lines = {kLine, kLine}, .seed = seed});
            Scenario& s = rig.scenario();
            const Bulk bulk = rig.start({.bytes = bytes});
            std::uint64_t at_death = 0;
            s.at(2s, "the line dies", [&] {
                rig.cut(dying);
                at_death = bulk.receiver->received();
            });
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
            const double rest = static_cast<double>(bytes - at_death) * 8.0 / (kPayload * 20e6);
            SIM_CHECK(s, to_seconds(s.elapsed()) <= 2.0 + rest + 0.8);
            SIM_CHECK(s, count_of(rig.client(), PathState::suspended, static_cast<std::uint8_t>(dying)) == 1);
            SIM_CHECK(s, s.client().session().stats().stream_bytes_resent < bytes / 50);
        }
    }
}

TEST_CASE("a path that returns carries data again within a second and a half") {
    for (const Duration away : {500ms, 3000ms, 8000ms}) {
        MultipathRig rig({.name = "one of two returns", .lines = {kLine, kLine}});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 80'000'000});
        std::uint64_t before = 0;
        s.at(2s, "the line dies", [&] { rig.cut(1); });
        s.at(2s + away, "the line is back", [&] {
            rig.mend(1);
            before = rig.path(1).delivered_bytes;
        });
        s.run_for(2s + away + 1500ms);
        // Half of the bytes that the link carries in a quarter of a second.
        SIM_CHECK(s, rig.path(1).delivered_bytes > before + 300'000);
        SIM_CHECK(s, rig.path(1).state == PathState::active);
        SIM_CHECK(s, rig.path(1).datagram_bytes >= 1400);
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    }
}

TEST_CASE("all paths dead for 30 s and back: the same session goes on") {
    TransportConfig config;
    config.idle_timeout = 60s;
    for (const std::uint64_t seed : {1U, 2U}) {
        MultipathRig rig({.name = "all dead for 30 s",
                          .lines = {kLine, kLine, kLine},
                          .seed = seed,
                          .client = config,
                          .server = config});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 24'000'000});
        s.at(2s, "all lines die", [&] {
            for (std::size_t i = 0; i < 3; ++i) rig.cut(i);
        });
        s.at(32s, "all lines are back", [&] {
            for (std::size_t i = 0; i < 3; ++i) rig.mend(i);
        });
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 90s));
        SIM_CHECK(s, s.server().sessions().size() == 1);
        // 24 MB take 3.4 s over three links.
        SIM_CHECK(s, s.elapsed() <= 30s + 3500ms + 1700ms);
        for (std::size_t i = 0; i < 3; ++i) SIM_CHECK(s, rig.path(i).state == PathState::active);
    }
}

TEST_CASE("a path that never works is told of and costs nothing") {
    Duration alone{};
    for (const bool second : {false, true}) {
        LinkParams dead = kLine;
        dead.loss = 1.0;
        std::vector<LinkParams> lines{kLine};
        if (second) lines.push_back(dead);
        MultipathRig rig({.name = "one of two never works", .lines = lines});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 20'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        if (!second) {
            alone = s.elapsed();
            continue;
        }
        SIM_CHECK(s, to_seconds(s.elapsed()) <= 1.01 * to_seconds(alone));
        SIM_CHECK(s, rig.path(1).state == PathState::probing);
        SIM_CHECK(s, rig.path(1).sent_packets < 20);
        const auto& changes = rig.client().path_changes;
        SIM_CHECK(s, std::ranges::count_if(changes, [](const auto& e) { return e.unreachable; }) == 1);
    }
}

TEST_CASE("a path that did not work at first is used when it does") {
    MultipathRig rig({.name = "late path", .lines = {kLine, kLine}});
    Scenario& s = rig.scenario();
    rig.cut(1);
    const Bulk bulk = rig.start({.bytes = 60'000'000});
    s.at(3s, "the line works", [&] { rig.mend(1); });
    SIM_REQUIRE(s, s.run_until([&] { return rig.path(1).state == PathState::active; }, 10s));
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, rig.path(1).delivered_bytes > 10'000'000);
}

TEST_CASE("standby: the primary carries all while it works, the standby path while it does not") {
    for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
        MultipathRig rig({.name = "primary and standby", .lines = {kLine, kLine}, .options = {{}, {.standby = true}}});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 30'000'000, .kind = kind});
        std::uint64_t before = 0;
        std::uint64_t back = 0;
        s.at(3s, "the primary dies", [&] {
            before = rig.path(1).delivered_bytes;
            rig.cut(0);
        });
        s.at(6s, "the primary is back", [&] { rig.mend(0); });
        s.at(8s, "settled", [&] { back = rig.path(1).delivered_bytes; });
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, before == 0);
        SIM_CHECK(s, back > 4'000'000);
        SIM_CHECK(s, rig.path(1).delivered_bytes <= back + 20'000);
        SIM_CHECK(s, s.server().session().stats().paths.at(1).standby);
    }
}

TEST_CASE("a path that is removed hands its data on, at both ends") {
    MultipathRig rig({.name = "removed", .lines = {kLine, kLine}});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 20'000'000});
    bool removed = false;
    s.at(2s, "the first path is removed",
         [&] { removed = rig.client().connection->remove_path(s.events().now(), PathId{0}).ok(); });
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, removed);
    SIM_CHECK(s, rig.path(0).state == PathState::closed);
    SIM_CHECK(s, rig.server_path(0).state == PathState::closed);
    SIM_CHECK(s, bulk.receiver->intact());
}

TEST_CASE("what a silent path had delivered revives it only where the rule is off") {
    for (const bool rule : {true, false}) {
        MultipathRig rig({.name = rule ? "rule on" : "rule off",
                          .lines = {kLine, kLine},
                          .client_experiment = {.silent_path_rule = rule}});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 24'000'000});
        s.at(2s, "the line dies", [&] { rig.cut(1); });
        s.run_for(5s);
        if (rule) {
            SIM_CHECK(s, rig.path(1).suspensions == 1);
        } else {
            SIM_CHECK(s, rig.path(1).suspensions > 1);
        }
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    }
}

TEST_CASE("the first of several candidate paths is dead: the connection is made over another within two seconds") {
    MultipathRig rig({.name = "dead first way", .lines = {kLine, kLine, kLine}});
    Scenario& s = rig.scenario();
    rig.cut(0);
    rig.cut(2);
    const auto receiver = std::make_shared<Receiver>();
    const auto sender = std::make_shared<Sender>(Sender::Options{.bytes = 5'000'000});
    s.server().listen(1, [&](proto::Connection&) { return receiver; });
    s.client().connect({{s.client().address(), s.server().address(), {}},
                        {rig.client_address(2), rig.server_address(2), {}},
                        {rig.client_address(1), rig.server_address(1), {.standby = true}}},
                       sender);
    SIM_REQUIRE(s, s.run_until([&] { return rig.client().connected_at.has_value(); }, 2s));
    SIM_CHECK(s, rig.path(0).local == rig.client_address(1));
    SIM_CHECK(s, rig.path(0).standby);
    SIM_REQUIRE(s, s.run_until([&] { return receiver->complete(5'000'000); }, 10s));
    SIM_CHECK(s, s.server().sessions().size() == 1);
}

TEST_CASE("a close is heard although the best path has just died") {
    for (const std::size_t best : {0U, 1U}) {
        LinkParams near = kLine;
        near.delay = 2ms;
        RigSetup setup{.name = "close beside a dead path", .lines = {kLine, kLine}};
        setup.lines[best] = near;
        MultipathRig rig(std::move(setup));
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 2'000'000, .close_when_delivered = false});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.sender->delivered_at().has_value(); }, 20s));
        s.run_for(500ms);
        rig.cut(best);
        const Instant closed = s.events().now();
        rig.client().connection->close(closed, 0, "done");
        s.client().pump();
        SIM_REQUIRE(s, s.run_until([&] { return s.server().session().closed.has_value(); }, 5s));
        SIM_CHECK(s, *s.server().session().closed_at - closed < 1s);
    }
}

TEST_CASE("a close is answered over a path that works") {
    for (const std::size_t dying : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        MultipathRig rig({.name = "answer beside a dead path", .lines = {kLine, kLine, kLine}});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 4'000'000, .close_when_delivered = false});
        s.at(500ms, "one line dies", [&] { rig.cut(dying); });
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 30s));
        s.run_for(2s);
        const Duration closed = s.elapsed();
        rig.client().connection->close(s.events().now(), 0, "done");
        s.client().pump();
        SIM_REQUIRE(s, s.run_until([&] { return s.client().endpoint().connection_count() == 0; }, closed + 5s));
        SIM_CHECK(s, s.elapsed() - closed <= 20ms + 2 * kSynInterval);
    }
}

TEST_CASE("an answer that comes over a path tried before makes that one the first path") {
    // The round trip is longer than the time after which the client tries the next address.
    LinkParams far = kLine;
    far.delay = 1100ms;
    MultipathRig rig({.name = "late answer", .lines = {kLine, far}});
    Scenario& s = rig.scenario();
    rig.cut(0);
    const auto receiver = std::make_shared<Receiver>();
    const auto sender = std::make_shared<Sender>(Sender::Options{.bytes = 100'000});
    s.server().listen(1, [&](proto::Connection&) { return receiver; });
    // The routes of the second path determine its source address.
    const Address elsewhere = make_address(9, 7000);
    s.network().add_address(s.server().node(), elsewhere);
    s.network().connect(s.client().address(), elsewhere, {&rig.up(1)});
    s.network().connect(elsewhere, s.client().address(), {&rig.down(1)});
    s.client().connect({{{}, s.server().address(), {}}, {{}, elsewhere, {}}}, sender);
    SIM_REQUIRE(s, s.run_until([&] { return receiver->complete(100'000); }, 30s));
    SIM_CHECK(s, rig.path(0).remote == elsewhere);
    SIM_CHECK(s, s.server().sessions().size() == 1);
}

TEST_CASE("a path that stays silent for minutes keeps a few probes and no more") {
    TransportConfig config;
    config.idle_timeout = 60s;
    MultipathRig rig({.name = "silent for minutes", .lines = {kLine, kLine}, .client = config, .server = config});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 2'000'000, .close_when_delivered = false});
    s.at(500ms, "the line dies", [&] { rig.cut(1); });
    s.run_for(120s);
    SIM_REQUIRE(s, rig.path(1).state == PathState::suspended);
    SIM_CHECK(s, rig.path(1).in_flight <= 22 * 1472);
    rig.mend(1);
    s.run_for(1500ms);
    SIM_CHECK(s, rig.path(1).state == PathState::active);
    SIM_CHECK(s, rig.path(1).datagram_bytes >= 1400);
}
