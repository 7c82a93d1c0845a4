// Several paths: their rates add up, they carry both kinds of streams, mix IPv4 and IPv6, and obey the user's cap.
#include "multipath_rig.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kLine{.bits_per_second = 40'000'000, .delay = 10ms, .queue_bytes = 100'000};
/// Stream bits per link bit: datagrams of 1,472 bytes carry 1,441 bytes of a stream and take 1,500 bytes of the link.
constexpr double kPayload = 1441.0 / 1500.0;

double goodput(std::uint64_t bytes, Duration time) { return static_cast<double>(bytes) * 8.0 / to_seconds(time); }

}  // namespace

TEST_CASE("two equal paths add up for an unordered stream") {
    for (const std::uint64_t seed : {1U, 2U}) {
        const std::uint64_t bytes = 60'000'000;
        MultipathRig rig({.name = "two equal paths", .lines = {kLine, kLine}, .seed = seed});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = bytes});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, goodput(bytes, s.elapsed()) >= 0.95 * kPayload * 80e6);
        SIM_CHECK(s, rig.path(1).delivered_bytes > bytes / 3);
        SIM_CHECK(s, s.client().session().stats().stream_bytes_resent < bytes / 100);
    }
}

TEST_CASE("two equal paths add up for an ordered stream") {
    for (const std::uint64_t seed : {1U, 2U}) {
        const std::uint64_t bytes = 60'000'000;
        MultipathRig rig({.name = "ordered over two", .lines = {kLine, kLine}, .seed = seed});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = bytes, .kind = StreamKind::ordered});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, goodput(bytes, s.elapsed()) >= 0.94 * kPayload * 80e6);
    }
}

TEST_CASE("eight paths of different delay add up") {
    std::vector<LinkParams> lines;
    for (int i = 0; i < 8; ++i) {
        lines.push_back({.bits_per_second = 8'000'000, .delay = 5ms + i * 5ms, .queue_bytes = 60'000});
    }
    const std::uint64_t bytes = 60'000'000;
    MultipathRig rig({.name = "eight paths", .lines = lines});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = bytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, goodput(bytes, s.elapsed()) >= 0.90 * kPayload * 64e6);
    for (std::size_t i = 0; i < 8; ++i) SIM_CHECK(s, rig.path(i).delivered_bytes > bytes / 16);
    const auto ninth = rig.client().connection;
    SIM_CHECK(s, !ninth || !ninth->add_path(s.events().now(), make_address(150, 1), s.server().address(), {}).ok());
}

TEST_CASE("IPv4 and IPv6 paths carry one stream") {
    const std::uint64_t bytes = 20'000'000;
    MultipathRig rig({.name = "both families", .lines = {kLine, kLine}, .v6 = {1}});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = bytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, rig.path(1).remote.family == Address::Family::v6);
    SIM_CHECK(s, rig.path(0).delivered_bytes > bytes / 4);
    SIM_CHECK(s, rig.path(1).delivered_bytes > bytes / 4);
}

TEST_CASE("the user's cap holds over all paths together") {
    TransportConfig config;
    config.max_rate = Rate::bits_per_second(25e6);
    const std::uint64_t bytes = 12'500'000;
    MultipathRig rig({.name = "cap over two paths", .lines = {kLine, kLine}, .client = config});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = bytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    const auto sent = rig.path(0).sent_bytes + rig.path(1).sent_bytes;
    SIM_CHECK(s, goodput(sent, s.elapsed()) <= 1.03 * 25e6);
    SIM_CHECK(s, goodput(sent, s.elapsed()) >= 0.90 * 25e6);
}

TEST_CASE("bytes that come on several paths arrive in order, whatever their delays") {
    for (const std::uint64_t seed : {1U, 2U}) {
        const LinkParams slow{.bits_per_second = 4'000'000, .delay = 100ms, .queue_bytes = 60'000, .loss = 0.01};
        MultipathRig rig({.name = "ordered, unequal", .lines = {kLine, slow, slow}, .seed = seed});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 12'000'000, .kind = StreamKind::ordered});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, bulk.receiver->intact());
    }
}

TEST_CASE("fixed: the rate is that of all paths together, by their weights") {
    LinkParams narrow = kLine;
    narrow.bits_per_second = 4'000'000;
    const std::vector<std::pair<LinkParams, double>> cases{{kLine, 1.0}, {narrow, 0.1}};
    for (const auto& [second, weight] : cases) {
        TransportConfig config;
        config.policy = Policy::fixed;
        config.max_rate = Rate::bits_per_second(weight == 1.0 ? 60e6 : 33e6);
        MultipathRig rig({.name = "fixed over two paths",
                          .lines = {kLine, second},
                          .options = {{}, {.weight = weight}},
                          .client = config});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 1ULL << 36U});
        s.run_for(1s);
        const std::uint64_t before = bulk.receiver->received();
        const std::uint64_t lost = rig.path(0).lost_packets + rig.path(1).lost_packets;
        s.run_for(4s);
        SIM_CHECK(s, goodput(bulk.receiver->received() - before, 4s) >= 0.95 * kPayload * config.max_rate.bps());
        SIM_CHECK(s, rig.path(0).lost_packets + rig.path(1).lost_packets - lost <= 20);
    }
}

TEST_CASE("the floor of the rate is that of all paths together, and of those that are left") {
    LinkParams lossy = kLine;
    lossy.loss = 0.05;
    TransportConfig config;
    config.congestion = "cubic";
    config.min_rate = Rate::bits_per_second(12e6);
    MultipathRig rig({.name = "floor over two paths", .lines = {lossy, lossy}, .client = config});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 1ULL << 36U});
    const auto sent_in = [&](Duration time) {
        const auto sum = [&] { return rig.path(0).sent_bytes + rig.path(1).sent_bytes; };
        const std::uint64_t before = sum();
        s.run_for(time);
        return goodput(sum() - before, time);
    };
    s.run_for(3s);
    const double both = sent_in(4s);
    rig.cut(1);
    s.run_for(1s);
    const double one = sent_in(4s);
    INFO(both << " bit/s over both, " << one << " over one");
    CHECK(both >= 0.95 * 12e6);
    CHECK(both <= 1.15 * 12e6);
    CHECK(one >= 0.95 * 12e6);
}

TEST_CASE("under a cap over all paths a path of large datagrams gets its turn beside one of small ones") {
    for (const char* scheduler : {"eds", "minrtt"}) {
        const LinkParams large{.bits_per_second = 100'000'000, .delay = 3ms, .queue_bytes = 200'000, .mtu = 8972};
        const LinkParams small{.bits_per_second = 100'000'000, .delay = 30ms, .queue_bytes = 200'000, .mtu = 1280};
        RigSetup setup{.name = std::string("cap, large and small, ") + scheduler, .lines = {large, small}};
        setup.client.scheduler = scheduler;
        setup.client.max_rate = Rate::bits_per_second(20e6);
        MultipathRig rig(std::move(setup));
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 10'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 10s));
        SIM_CHECK(s, rig.path(0).delivered_bytes > 5'000'000);
    }
}

TEST_CASE("a receiver that closes at the last byte has acknowledged it, whichever path brought it") {
    const LinkParams near{.bits_per_second = 50'000'000, .delay = 5ms, .queue_bytes = 200'000};
    for (const Duration delay : {10ms, 25ms, 60ms}) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            LinkParams far = near;
            far.delay = delay;
            MultipathRig rig({.name = "close at the last byte", .lines = {near, far, far}, .seed = seed});
            Scenario& s = rig.scenario();
            const Bulk bulk = rig.start({.bytes = 3'000'000 + 997 * seed, .close_when_delivered = false});
            SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->complete_at().has_value(); }, 20s));
            s.at(s.elapsed(), "the receiver closes",
                 [&] { s.server().session().connection->close(s.events().now(), 0, ""); });
            SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 30s));
            SIM_CHECK(s, bulk.sender->delivered_at().has_value());
        }
    }
}
