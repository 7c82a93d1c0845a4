#include "proto/path_context.hpp"

#include <memory>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::proto;

namespace {

std::unique_ptr<PathContext> make_path(std::uint8_t id) {
    return std::make_unique<PathContext>(PathId{id}, TransportConfig(), Address(), Address());
}

void give_rtt(PathContext& p, Duration rtt) {
    recovery::SentPacket packet;
    packet.number = p.recovery.next_number();
    packet.bytes = 1000;
    packet.ack_eliciting = packet.in_flight = true;
    p.recovery.on_sent(packet);
    wire::AckFrame ack;
    ack.ranges[0] = {packet.number, packet.number};
    ack.count = 1;
    recovery::Outcome out;
    REQUIRE(p.recovery.on_ack(Instant(rtt), ack, Duration::zero(), out));
}

}  // namespace

TEST_CASE("paths are found by their ids, and an id is used once") {
    PathSet set(make_path(0));
    CHECK(set.single());
    CHECK(set.unused_id() == PathId{1});
    set.add(make_path(1));
    set.add(make_path(4));
    CHECK(set.count() == 3);
    CHECK(set.find(PathId{4}) != nullptr);
    CHECK(set.find(PathId{2}) == nullptr);
    set.mark_used(PathId{2});
    CHECK(set.unused_id() == PathId{3});
    PathStats figures;
    figures.id = PathId{0};
    set.close(PathId{0}, figures);
    CHECK(set.find(PathId{0}) == nullptr);
    CHECK(set.was_used(PathId{0}));
    CHECK(set.first().id == PathId{1});
    REQUIRE(set.closed().size() == 1);
    CHECK(set.closed()[0].id == PathId{0});
}

TEST_CASE("the best path is active, heard, no standby, and near") {
    PathSet set(make_path(0));
    PathContext& first = set.first();
    PathContext& near = set.add(make_path(1));
    PathContext& standby = set.add(make_path(2));
    give_rtt(first, 50ms);
    give_rtt(near, 20ms);
    give_rtt(standby, 1ms);
    standby.options.standby = true;
    CHECK(&set.best() == &near);
    CHECK(set.another_works(near));
    near.peer_suspended = true;
    CHECK(&set.best() == &first);
    first.state.enter(PathState::suspended);
    CHECK(&set.best() == &standby);
    CHECK_FALSE(set.another_works(standby));
    standby.state.enter(PathState::closed);
    CHECK(&set.best() == &near);
}
