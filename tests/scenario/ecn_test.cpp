// Explicit congestion notification: links that mark instead of drop, and links that do wrong to marks.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "multipath_rig.hpp"
#include "sim/check.hpp"
#include "sim/flows.hpp"
#include "sim/insider.hpp"
#include "wire/frame.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

TransportConfig settings(bool ecn, const std::string& cc = "udtx") {
    TransportConfig config;
    config.congestion = cc;
    config.ecn = ecn;
    return config;
}

/// Flows of one controller on a link of 50 Mbit/s and 20 ms. The link marks packets that would wait longer than `wait`.
/// Without ECN it drops them.
FlowRigSetup flows_of(const std::string& cc, const std::vector<bool>& with_ecn) {
    FlowRigSetup setup{.name = cc, .bits_per_second = 50'000'000, .rtt = 20ms, .queue_bdp = 8.0, .flows = {}};
    for (const bool ecn : with_ecn) setup.flows.push_back({.cc = cc, .config = settings(ecn)});
    return setup;
}

void bound_queue(FlowRig& rig, Duration wait) {
    rig.bottleneck().change([wait](LinkParams& p) { p.longest_wait = wait; });
}

/// One transfer over a link whose `fault` begins at `from`.
struct Faulty {
    Faulty(const std::string& cc, bool ecn, EcnFault fault, Duration from = {}) {
        auto setup = symmetric("fault " + std::to_string(static_cast<int>(fault)) + ", " + cc,
                               {.bits_per_second = 50'000'000, .delay = 10ms, .queue_bytes = 250'000});
        setup.client = settings(ecn, cc);
        Scenario s(std::move(setup));
        s.at(from, "the fault begins", [&] { s.up().change([fault](LinkParams& p) { p.ecn_fault = fault; }); });
        s.network().set_filter([&](Instant, NodeId, const Packet& packet) {
            if (packet.ecn == proto::Ecn::not_ect) return true;
            ++marked;
            last_mark = s.elapsed();
            return true;
        });
        const Bulk bulk = start_bulk(s, {.bytes = 60'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 30s));
        time = s.elapsed();
        dropped = s.up().counters().dropped_ecn;
    }
    std::uint64_t marked = 0;
    std::uint64_t dropped = 0;
    Duration last_mark{};
    Duration time{};
};

/// What a server tells about marks, read before it is sealed.
struct Reports {
    explicit Reports(TappedProvider& provider) {
        provider.set_tap([this](const TappedProvider::Sealing& sealing) { read(sealing); });
    }
    void read(const TappedProvider::Sealing& sealing) {
        wire::Reader in(sealing.payload);
        std::optional<wire::EcnFrame> told;
        while (!in.empty()) {
            const auto frame = wire::read_frame(in, scratch);
            REQUIRE(frame.ok());
            const auto* const ack = std::get_if<wire::AckFrameView>(&*frame);
            if (told && (ack == nullptr || ack->frame->path != told->path)) ++misplaced;
            if (ack != nullptr) ++(told ? counted : uncounted);
            if (ack != nullptr && told && ack->frame->path != sealing.header.path) ++elsewhere;
            const auto* const counts = std::get_if<wire::EcnFrame>(&*frame);
            told = counts != nullptr ? std::optional(*counts) : std::nullopt;
            if (told) last = *told;
        }
        if (told) ++misplaced;
    }
    wire::AckFrame scratch;
    wire::EcnFrame last;
    std::uint64_t counted = 0;
    std::uint64_t uncounted = 0;
    std::uint64_t elsewhere = 0;  // counts of another path than the packet's
    std::uint64_t misplaced = 0;
};

}  // namespace

TEST_CASE("ecn: on a queue that marks nothing is lost, and the link is in use") {
    for (const auto& [cc, wait] : {std::pair<std::string, Duration>("cubic", 20ms), {"udtx", 5ms}}) {
        FlowRig with(flows_of(cc, {true}));
        FlowRig without(flows_of(cc, {false}));
        for (FlowRig* rig : {&with, &without}) {
            bound_queue(*rig, wait);
            rig->run_for(30s);
        }
        INFO(with.table(2s, 30s) << without.table(2s, 30s));
        CHECK(without.stats(0).lost_packets > 30);
        CHECK(with.bottleneck().counters().marked > 100);
        CHECK(with.bottleneck().counters().dropped() == 0);
        CHECK(with.stats(0).lost_packets == 0);
        CHECK(with.utilisation(2s, 30s) >= 0.95);
    }
}

TEST_CASE("ecn: flows with marks and flows with losses share a link") {
    FlowRig rig(flows_of("cubic", {true, false, true, false}));
    bound_queue(rig, 20ms);
    rig.run_for(60s);
    INFO(rig.table(10s, 60s));
    CHECK(rig.stats(0).lost_packets + rig.stats(2).lost_packets == 0);
    CHECK(rig.utilisation(10s, 60s) >= 0.95);
    CHECK(rig.jain(10s, 60s) > 0.85);
}

TEST_CASE("ecn: a link that does wrong to marks gets ten of them, and then costs nothing") {
    for (const std::string cc : {"udtx", "cubic", "bbr"}) {
        const Faulty without(cc, false, EcnFault::none);
        CHECK(without.marked == 0);
        CHECK(Faulty(cc, true, EcnFault::none).marked > 30'000);
        for (const EcnFault fault : {EcnFault::bleach, EcnFault::always_ce, EcnFault::drop}) {
            const Faulty with(cc, true, fault);
            INFO(cc << ", fault " << static_cast<int>(fault) << ": " << to_seconds(with.time) << " s instead of "
                    << to_seconds(without.time));
            CHECK(with.marked >= 1);
            CHECK(with.marked <= 10);
            CHECK(to_seconds(without.time) >= 0.97 * to_seconds(with.time));
        }
    }
}

TEST_CASE("ecn: a fault in mid-transfer ends the marks") {
    for (const std::string cc : {"udtx", "cubic"}) {
        const Faulty without(cc, false, EcnFault::none);
        for (const EcnFault fault : {EcnFault::bleach, EcnFault::drop}) {
            const Faulty with(cc, true, fault, 2s);
            INFO(cc << ", fault " << static_cast<int>(fault) << ": " << to_seconds(with.time) << " s instead of "
                    << to_seconds(without.time));
            CHECK(with.marked > 1000);
            CHECK(with.last_mark < 3s);
            CHECK(with.time <= without.time + 1500ms);
        }
    }
}

TEST_CASE("ecn: counts stand directly before the ACK of their path, and only if there are marks") {
    for (const bool ecn : {true, false}) {
        TappedProvider tapped(shared_kit().provider());
        const Reports reports(tapped);
        auto setup = symmetric("order", {.bits_per_second = 50'000'000, .queue_bytes = 100'000});
        setup.client = settings(ecn);
        setup.server_provider = &tapped;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = 10'000'000, .close_when_delivered = false});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 30s));
        SIM_CHECK(s, reports.misplaced == 0);
        SIM_CHECK(s, reports.uncounted + reports.counted > 100);
        if (ecn) {
            SIM_CHECK(s, reports.counted > 100);
            SIM_CHECK(s, reports.last.ect0 > 6000 && reports.last.ect1 == 0 && reports.last.ce == 0);
        } else {
            SIM_CHECK(s, reports.counted == 0);
        }
    }
}

TEST_CASE("ecn: counts that are lost are told again") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        LinkParams line{.bits_per_second = 50'000'000, .queue_bytes = 250'000};
        auto setup = symmetric("lost counts", line, seed);
        setup.down.loss = 0.3;
        setup.client = settings(true);
        Scenario s(std::move(setup));
        std::uint64_t marked = 0;
        s.network().set_filter([&](Instant, NodeId, const Packet& packet) {
            if (packet.ecn != proto::Ecn::not_ect) ++marked;
            return true;
        });
        const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 30s));
        SIM_CHECK(s, marked > 6000);
    }
}

TEST_CASE("ecn: counts of a suspended path leave on another one") {
    TappedProvider tapped(shared_kit().provider());
    const Reports reports(tapped);
    const LinkParams line{.bits_per_second = 20'000'000};
    MultipathRig rig(
        {.name = "elsewhere", .lines = {line, line}, .client = settings(true), .server_provider = &tapped});
    const Bulk bulk = rig.start({.bytes = 20'000'000});
    rig.scenario().at(1s, "line 1 is cut", [&] { rig.cut(1); });
    SIM_REQUIRE(rig.scenario(), rig.scenario().run_until([&] { return bulk.done(); }, 30s));
    SIM_CHECK(rig.scenario(), reports.elsewhere > 0);
    SIM_CHECK(rig.scenario(), reports.misplaced == 0);
}
