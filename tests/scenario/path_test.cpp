// Events on a path: MTU changes, blackouts, idle timeout, keep-alive, rebinding.
#include "sim/check.hpp"
#include "test/fault_case.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

std::uint32_t datagram_bytes(Scenario& s) { return s.client().session().stats().paths.at(0).datagram_bytes; }

}  // namespace

TEST_CASE("MTU: the search finds what the path carries") {
    for (const std::uint32_t mtu : {1200U, 1280U, 1472U, 4000U, 8972U, 65000U}) {
        Scenario s(symmetric("mtu " + std::to_string(mtu), {.mtu = mtu}));
        const Bulk bulk = start_bulk(s, {.bytes = 20'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 30s));
        SIM_CHECK(s, datagram_bytes(s) <= mtu);
        SIM_CHECK(s, static_cast<double>(datagram_bytes(s)) >= 0.9 * std::min(mtu, 9000U));
    }
}

TEST_CASE("F74 MTU falls from 9000 to 1280 silently in mid-transfer: recovers within 3 s") {
    Duration slowest{};
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Scenario s(symmetric("mtu black hole", {.mtu = 8972}, seed));
        const Bulk bulk = start_bulk(s, {.bytes = 60'000'000});
        std::uint64_t at_fall = 0;
        s.at(2s, "MTU falls to 1280 both ways", [&] {
            at_fall = bulk.receiver->received();
            for (Link* l : {&s.up(), &s.down()}) l->change([](LinkParams& p) { p.mtu = 1252; });
        });
        SIM_REQUIRE(s, s.run_until([&] { return s.elapsed() > 2050ms; }, 3s));
        const std::uint64_t settled = bulk.receiver->received();  // the data in flight has arrived
        SIM_REQUIRE(s, at_fall > 0);
        SIM_CHECK(s, s.run_until([&] { return bulk.receiver->received() > settled + 100'000; }, 5s));
        slowest = std::max<Duration>(slowest, s.elapsed() - 2s);
        SIM_CHECK(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, datagram_bytes(s) <= 1252);
    }
    test::fault_case(74, "MTU from 9000 to 1280: data moves again within 3 s", to_seconds(slowest), " s");
}

TEST_CASE("F74 a line of 20 Mbit/s falls from 65,000 to 1,250 bytes: 12 MB come with little delay") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Scenario s(symmetric("large black hole", {.bits_per_second = 20'000'000, .delay = 20ms, .mtu = 65000}, seed));
        const Bulk bulk = start_bulk(s, {.bytes = 12'000'000});
        s.at(2s, "MTU falls to 1250 both ways", [&] {
            for (Link* l : {&s.up(), &s.down()}) l->change([](LinkParams& p) { p.mtu = 1250; });
        });
        SIM_REQUIRE(s, s.run_until([&] { return s.elapsed() > 2500ms; }, 3s));
        const std::uint64_t settled = bulk.receiver->received();  // the queue is empty by then
        SIM_CHECK(s, s.run_until([&] { return bulk.receiver->received() > settled + 100'000; }, 5s));
        SIM_CHECK(s, s.run_until([&] { return bulk.done(); }, 9s));
    }
}

TEST_CASE("F72 a blackout of 2 s in every 7") {
    double slowest = 0.0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        LinkParams l{.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 200'000};
        l.blackouts = {{.from = 3s, .length = 2s, .period = 7s}};
        Scenario s(symmetric("2 s in every 7", l, seed));
        const Bulk bulk = start_bulk(s, {.bytes = 60'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 90s));
        SIM_CHECK(s, s.server().sessions().size() == 1);
        // 27 to 30 s without blackouts, times 7/5, are 42 s. The rest is the time to resume after each blackout.
        SIM_CHECK(s, s.elapsed() <= 46s);
        slowest = std::max(slowest, to_seconds(s.elapsed()));
    }
    test::fault_case(72, "a blackout of 2 s in every 7: 60 MB over 20 Mbit/s within 46 s", slowest, " s");
}

TEST_CASE("a stall of the peer is not taken for a black hole: datagrams keep their size") {
    for (const Duration stall : {300ms, 1500ms, 8000ms}) {
        LinkParams l{.bits_per_second = 100'000'000, .delay = 1ms, .mtu = 65000};
        l.blackouts = {{.from = 2s, .length = stall, .period = 10s}};
        Scenario s(symmetric("stall", l));
        const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000});
        s.run_for(2s);
        const std::uint32_t before = datagram_bytes(s);
        SIM_CHECK(s, before > 60'000);
        s.run_for(stall + 1s);
        SIM_CHECK(s, datagram_bytes(s) >= before);
        s.run_for(15s);
        SIM_CHECK(s, datagram_bytes(s) >= before);
        SIM_CHECK(s, bulk.receiver->intact());
    }
}

TEST_CASE("F72 one blackout of 30 s is survived when idle_timeout allows it, and ended when not") {
    for (const Duration idle : {Duration(60s), Duration(20s)}) {
        LinkParams l{.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 200'000};
        l.blackouts = {{.from = 3s, .length = 30s}};
        auto setup = symmetric("blackout of 30 s", l);
        setup.client.idle_timeout = idle;
        setup.server.idle_timeout = idle;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = 20'000'000});
        const bool done = s.run_until([&] { return bulk.done(); }, 120s);
        SIM_CHECK(s, done == (idle > 30s));
        if (!done) {
            SIM_REQUIRE(s, s.client().session().closed);
            SIM_CHECK(s, s.client().session().closed->code == ErrorCode::timeout);
            SIM_CHECK(s, *s.client().session().closed_at - kStart < 3s + idle + 1s);
        }
    }
}

TEST_CASE("F72 after a blackout of 30 s data moves within 1 s, and soon at the line's speed") {
    LinkParams l{.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 200'000};
    l.blackouts = {{.from = 3s, .length = 30s}};
    auto setup = symmetric("blackout of 30 s, return", l);
    setup.client.idle_timeout = 60s;
    setup.server.idle_timeout = 60s;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 40'000'000});
    (void)s.run_until([] { return false; }, 33s);
    const std::uint64_t before = bulk.receiver->received();
    SIM_CHECK(s, s.run_until([&] { return bulk.receiver->received() > before + 50'000; }, 34s));
    test::fault_case(72, "after a blackout of 30 s data moves within 1 s", to_seconds(s.elapsed() - 33s), " s");
    SIM_CHECK(s, s.run_until([&] { return bulk.done(); }, 60s));
}

TEST_CASE("idle time-out: a peer that vanished is noticed") {
    auto setup = symmetric("peer vanishes", {});
    setup.client.idle_timeout = 10s;
    Scenario s(std::move(setup));
    const auto ping = std::make_shared<Ping>(1, 1s);
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<Echo>(); });
    s.client().connect(s.server().address(), ping);
    s.at(5s, "the line is cut", [&] {
        for (Link* l : {&s.up(), &s.down()}) l->change([](LinkParams& p) { p.loss = 1.0; });
    });
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed && s.server().session().closed; }, 60s));
    SIM_CHECK(s, s.client().session().closed->code == ErrorCode::timeout);
    // The shorter of the two timeouts applies to both ends.
    SIM_CHECK(s, *s.client().session().closed_at - kStart <= 16s);
    SIM_CHECK(s, *s.server().session().closed_at - kStart <= 16s);
}

TEST_CASE("idle time-out: without keep-alive a silent connection ends") {
    auto setup = symmetric("no keep-alive", {});
    setup.client.keep_alive = Duration::zero();
    setup.server.keep_alive = Duration::zero();
    Scenario s(std::move(setup));
    const auto ping = std::make_shared<Ping>(1, 1s);
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<Echo>(); });
    s.client().connect(s.server().address(), ping);
    SIM_CHECK(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 40s));
    SIM_CHECK(s, s.elapsed() >= 30s);
}

TEST_CASE("keep-alive keeps a silent connection whose idle_timeout is shorter, whichever end has it") {
    for (const bool client_has_it : {true, false}) {
        LinkParams l;
        l.loss = 0.1;
        auto setup = symmetric("keep-alive, short time-out", l);
        (client_has_it ? setup.client : setup.server).idle_timeout = 3s;
        Scenario s(std::move(setup));
        const auto ping = std::make_shared<Ping>(2, Duration(10min));
        s.server().listen(1, [](proto::Connection&) { return std::make_shared<Echo>(); });
        s.client().connect(s.server().address(), ping);
        SIM_REQUIRE(s, s.run_until([&] { return ping->answered() == 2; }, 10min + 10s));
    }
}

TEST_CASE("keep-alive keeps a silent connection for an hour, at little cost") {
    Scenario s(symmetric("keep-alive for an hour", {}));
    const auto ping = std::make_shared<Ping>(2, Duration(1h));
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<Echo>(); });
    s.client().connect(s.server().address(), ping);
    SIM_REQUIRE(s, s.run_until([&] { return ping->answered() == 2; }, 1h + 10s));
    SIM_CHECK(s, s.client().counters().datagrams_sent < 4 * 3600 / 5 + 500);
}

TEST_CASE("F73 NAT rebinding every 5 s, first the port, then the address: one session") {
    double most = 0.0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        LinkParams l{.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 200'000};
        Scenario s(symmetric("rebinding", l, seed));
        const Bulk bulk = start_bulk(s, {.bytes = 60'000'000});
        const auto rebind = [&](Duration when, const Address& outer) {
            s.at(when, "rebinds to " + to_string(outer), [&s, outer] { s.network().rebind(s.client().node(), outer); });
        };
        rebind(5s, make_address(1, 40001));
        rebind(10s, make_address(3, 40001));
        rebind(15s, make_address(3, 40002));
        rebind(20s, make_address(4, 40003));
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 120s));
        SIM_CHECK(s, s.server().sessions().size() == 1);
        SIM_CHECK(s, s.server().session().moves.size() >= 4);
        most = std::max(most, to_seconds(s.elapsed()));
    }
    test::fault_case(
        73, "port and address change every 5 s in virtual time: one session, 60 MB over 20 Mbit/s within 120 s", most,
        " s");
}

TEST_CASE("F73 a rebinding of a silent client is healed by its keep-alive") {
    Scenario s(symmetric("silent rebinding", {}));
    const auto ping = std::make_shared<Ping>(3, 40s);
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<Echo>(); });
    s.client().connect(s.server().address(), ping);
    s.at(10s, "rebinds", [&] { s.network().rebind(s.client().node(), make_address(1, 40009)); });
    SIM_REQUIRE(s, s.run_until([&] { return ping->answered() == 3; }, 100s));
    SIM_CHECK(s, s.server().session().moves.size() == 1);
}
