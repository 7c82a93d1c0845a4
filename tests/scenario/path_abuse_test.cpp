// Unrequested packets of paths: forged, replayed, injected from elsewhere, or more than allowed.
#include <algorithm>

#include "multipath_rig.hpp"
#include "sim/insider.hpp"
#include "sim/prng.hpp"
#include "wire/frame.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kLine{.bits_per_second = 100'000'000, .delay = 10ms, .queue_bytes = 250'000};
constexpr std::size_t kPathByte = 9;  // offset in a short header

std::vector<std::byte> copy_of(const Packet& packet) { return {packet.data.begin(), packet.data.end()}; }

bool is_short(const Packet& packet) { return (packet.data[0] & std::byte{0x80}) == std::byte{0}; }

}  // namespace

TEST_CASE("forged packets of unknown paths make no path") {
    MultipathRig rig({.name = "forged paths", .lines = {kLine}});
    Scenario& s = rig.scenario();
    int injected = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& packet) {
        if (from == s.client().node() && is_short(packet) && injected < 500) {
            auto forged = copy_of(packet);
            forged[kPathByte] = static_cast<std::byte>(1 + injected++ % 255);
            s.network().inject(1ms, make_address(66, 6666), s.server().address(), std::move(forged));
        }
        return true;
    });
    const Bulk bulk = rig.start({.bytes = 20'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, injected == 500);
    SIM_CHECK(s, s.server().session().stats().paths.size() == 1);
    SIM_CHECK(s, s.server().session().stats().undecryptable_packets >= 400);
}

TEST_CASE("the first packet of a path, taken and sent from elsewhere, gains nothing") {
    MultipathRig rig({.name = "raced path", .lines = {kLine, kLine}});
    Scenario& s = rig.scenario();
    const Address thief = make_address(66, 6666);
    std::uint64_t stolen = 0;
    std::uint64_t answered = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& packet) {
        if (from == s.server().node() && packet.to == thief) answered += packet.data.size();
        if (from != s.client().node() || packet.from != rig.client_address(1) || stolen > 0) return true;
        stolen = packet.data.size();
        s.network().inject(1ms, thief, s.server().address(), copy_of(packet));
        return false;
    });
    const Bulk bulk = rig.start({.bytes = 20'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, stolen > 0);
    SIM_CHECK(s, answered <= 3 * stolen);
    SIM_CHECK(s, rig.server_path(1).remote == rig.client_address(1));
    SIM_CHECK(s, rig.path(1).delivered_bytes > 3'000'000);
}

TEST_CASE("replayed packets of a path from elsewhere do not move it") {
    MultipathRig rig({.name = "replayed path", .lines = {kLine, kLine}});
    Scenario& s = rig.scenario();
    std::uint64_t answered = 0;
    std::uint64_t replayed = 0;
    int seen = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& packet) {
        if (from == s.server().node() && packet.to == make_address(66, 6666)) answered += packet.data.size();
        if (from == s.client().node() && packet.from == rig.client_address(1) && ++seen % 50 == 0) {
            replayed += packet.data.size();
            s.network().inject(30ms, make_address(66, 6666), s.server().address(), copy_of(packet));
        }
        return true;
    });
    const Bulk bulk = rig.start({.bytes = 20'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, s.network().counters().injected > 50);
    // A replayed packet whose original was lost is new to the server, so the server validates its address.
    SIM_CHECK(s, answered <= 3 * replayed);
    SIM_CHECK(s, rig.server_path(1).remote == rig.client_address(1));
}

TEST_CASE("a server takes no more paths than it announced, from the honest and from others") {
    TransportConfig few;
    few.max_paths = 2;
    TappedProvider tapped(shared_kit().provider());
    MultipathRig rig(
        {.name = "too many paths", .lines = {kLine, kLine, kLine}, .server = few, .client_provider = &tapped});
    Scenario& s = rig.scenario();
    const Bulk bulk = start_bulk(s, {.bytes = 20'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return rig.client().connected_at.has_value(); }, 10s));
    SIM_CHECK(s, rig.open(1).ok());
    const auto third = rig.open(2);
    SIM_REQUIRE(s, !third.ok());
    SIM_CHECK(s, third.error().code == ErrorCode::refused);
    s.client().pump();
    s.run_for(500ms);
    for (std::uint8_t id = 2; id < 40; ++id) {
        auto packet = tapped.forge(
            0, [](wire::Writer& w) { (void)wire::write_frame(w, wire::PingFrame{}); }, 1200, PathId{id});
        s.network().inject(1ms, make_address(66, 6666), s.server().address(), std::move(packet));
    }
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    SIM_CHECK(s, s.server().session().stats().paths.size() == 2);
}

// The peer opens a path from a foreign address and abandons the only validated path. Data in flight to the peer must
// not be sent to the victim.
TEST_CASE("a path that was never proved carries no data, even as the last one") {
    TappedProvider tapped(shared_kit().provider());
    MultipathRig rig({.name = "abandoned for a victim", .lines = {kLine}, .client_provider = &tapped});
    Scenario& s = rig.scenario();
    const Address victim = make_address(66, 6666);
    const auto sender = std::make_shared<Sender>(Sender::Options{.bytes = 50'000'000});
    const auto receiver = std::make_shared<Receiver>();
    s.server().listen(1, [&](proto::Connection&) { return sender; });
    s.client().connect(s.server().address(), receiver);
    SIM_REQUIRE(s, s.run_until([&] { return receiver->received() > 1'000'000; }, 10s));
    std::uint64_t answered = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& packet) {
        if (from == s.server().node() && packet.to == victim) answered += packet.data.size();
        return false;
    });
    std::uint64_t spent = 0;
    PacketNumber number = 0;
    const auto say = [&](const wire::Frame& frame) {
        auto packet = tapped.forge(
            number++, [&](wire::Writer& w) { REQUIRE(wire::write_frame(w, frame)); }, 1200, PathId{1});
        spent += packet.size();
        s.network().inject(1ms, victim, s.server().address(), std::move(packet));
        s.run_for(50ms);
    };
    say(wire::PathAbandonFrame{.path = PathId{0}, .code = 0});
    s.run_for(1s);
    SIM_CHECK(s, answered > 0);
    SIM_CHECK(s, answered <= 3 * spent);
    // The server processes frames about streams from there, and answers within the credit of three times the received
    // bytes. The same holds for an error.
    for (int i = 0; i < 5; ++i) say(wire::PingFrame{});
    s.run_for(1s);
    SIM_CHECK(s, answered <= 3 * spent);
    say(wire::PathAbandonFrame{.path = PathId{1}, .code = 0});
    s.run_for(5s);
    SIM_CHECK(s, answered <= 3 * spent);
    SIM_CHECK(s, s.server().session().closed.has_value());
}

// The simulator aborts a run in which a timer fires repeatedly without effect.
TEST_CASE("whatever a peer says of its paths, nothing runs hot and what it asked for comes") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        TappedProvider tapped(shared_kit().provider());
        MultipathRig rig(
            {.name = "states of paths", .lines = {kLine, kLine, kLine}, .seed = seed, .client_provider = &tapped});
        Scenario& s = rig.scenario();
        const auto sender = std::make_shared<Sender>(
            Sender::Options{.bytes = 5'000'000,
                            .kind = seed % 2 == 0 ? StreamKind::ordered : StreamKind::unordered,
                            .close_when_delivered = false});
        const auto receiver = std::make_shared<Receiver>();
        s.server().listen(1, [&](proto::Connection&) { return sender; });
        s.client().connect(s.server().address(), receiver);
        SIM_REQUIRE(s, s.run_until([&] { return rig.client().connected_at.has_value(); }, 10s));
        for (std::size_t line = 1; line < 3; ++line) SIM_REQUIRE(s, rig.open(line).ok());
        s.client().pump();
        // The tap replaces every other packet of the client, until it has replaced 200.
        Prng random(seed);
        std::uint64_t said = 0;
        tapped.set_tap([&](const TappedProvider::Sealing& sealing) {
            if (sealing.number < 10 || said == 200 || random.below(2) == 0) return;
            wire::Writer w(sealing.payload);
            for (std::uint8_t id = 0; id < 4; ++id) {
                const auto status = static_cast<wire::PathStatus>(random.below(10) < 8 ? 2 : random.below(3));
                const std::uint64_t weight = random.below(3) * 500'000'000;
                (void)wire::write_frame(w, wire::PathStatusFrame{PathId{id}, status, 1000 + said, weight});
            }
            w.zeros(w.room());
            ++said;
        });
        s.run_for(20s);
        SIM_CHECK(s, said > 20);
        SIM_CHECK(s, receiver->received() == 5'000'000);
        SIM_CHECK(s, receiver->intact());
    }
}

TEST_CASE("an address that changes under one of several paths is told with the path's number") {
    MultipathRig rig({.name = "second path rebinds", .lines = {kLine, kLine}});
    Scenario& s = rig.scenario();
    const Address outer = make_address(77, 41000);
    s.network().add_address(s.client().node(), outer);
    s.network().connect(s.server().address(), outer, {&rig.down(1)});
    bool rebound = false;
    s.network().set_filter([&](Instant, NodeId, const Packet& packet) {
        if (!rebound || packet.from != rig.client_address(1)) return true;
        s.network().inject(10ms, outer, packet.to, copy_of(packet));
        return false;
    });
    const Bulk bulk = rig.start({.bytes = 20'000'000});
    s.at(500ms, "a NAT in the second path forgets", [&] { rebound = true; });
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    const auto& moves = s.server().session().moves;
    SIM_REQUIRE(s, moves.size() == 1);
    SIM_CHECK(s, moves[0].path == PathId{1});
    SIM_CHECK(s, moves[0].to == outer);
}
