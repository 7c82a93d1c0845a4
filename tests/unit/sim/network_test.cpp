#include "sim/network.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Address;
using udtx::Instant;
using namespace udtx::sim;

namespace {

struct Sink final : Host {
    struct Seen {
        Address local;
        Address remote;
        std::size_t bytes;
    };
    void on_datagram(Instant /*now*/, const Address& local, const Address& remote, std::span<std::byte> data,
                     udtx::proto::Ecn /*ecn*/) override {
        seen.push_back({local, remote, data.size()});
    }
    std::vector<Seen> seen;
};

struct Bench {
    Bench()
        : network(events, 1),
          a_node(network.add_node("a", a_address, &a)),
          b_node(network.add_node("b", b_address, &b)) {
        network.connect(a_node, b_node, {&network.add_link("ab", {})});
        network.connect(b_node, a_node, {&network.add_link("ba1", {}), &network.add_link("ba2", {})});
    }
    void run() { events.run_until(events.now() + 1s); }

    Address a_address = make_address(1, 1000);
    Address b_address = make_address(2, 2000);
    EventQueue events;
    Network network;
    Sink a;
    Sink b;
    NodeId a_node;
    NodeId b_node;
    std::vector<std::byte> data = std::vector<std::byte>(100);
};

}  // namespace

TEST_CASE("network delivers over one and several links") {
    Bench t;
    t.network.send(t.a_node, t.b_address, t.data);
    t.network.send(t.b_node, t.a_address, t.data);
    t.run();
    REQUIRE(t.b.seen.size() == 1);
    CHECK(t.b.seen[0].remote == t.a_address);
    CHECK(t.b.seen[0].local == t.b_address);
    CHECK(t.a.seen.size() == 1);
    CHECK(t.network.links()[2]->counters().delivered == 1);
    t.network.send(t.a_node, make_address(9, 9), t.data);
    CHECK(t.network.counters().unroutable == 1);
}

TEST_CASE("network: a rebinding changes what the other side sees and kills the old mapping") {
    Bench t;
    const Address outer = make_address(1, 1001);
    t.network.send(t.b_node, t.a_address, t.data);  // in flight when the mapping is removed
    t.network.rebind(t.a_node, outer);
    t.network.send(t.a_node, t.b_address, t.data);
    t.network.send(t.b_node, t.a_address, t.data);
    t.network.send(t.b_node, outer, t.data);
    t.run();
    REQUIRE(t.b.seen.size() == 1);
    CHECK(t.b.seen[0].remote == outer);
    REQUIRE(t.a.seen.size() == 1);
    CHECK(t.a.seen[0].local == t.a_address);
    CHECK(t.network.counters().dead_mapping == 1);
    CHECK(t.network.counters().unroutable == 1);
}

TEST_CASE("network: filter and injection") {
    Bench t;
    int seen = 0;
    t.network.set_filter([&](Instant, NodeId from, const Packet&) {
        ++seen;
        return from != t.a_node;
    });
    t.network.send(t.a_node, t.b_address, t.data);
    t.network.inject(5ms, make_address(7, 7), t.b_address, std::vector<std::byte>(33));
    t.run();
    CHECK(seen == 1);
    CHECK(t.network.counters().filtered == 1);
    REQUIRE(t.b.seen.size() == 1);
    CHECK(t.b.seen[0].remote == make_address(7, 7));
    CHECK(t.b.seen[0].bytes == 33);
}

TEST_CASE("network: a second address of a node has routes of its own") {
    Bench t;
    const Address second = make_address(50, 1000);
    t.network.add_address(t.a_node, second);
    Link& own = t.network.add_link("own", {});
    t.network.connect(second, t.b_address, {&own});
    t.network.connect(t.b_address, second, {&own});
    t.network.send(t.a_node, second, t.b_address, t.data);
    t.network.send(t.b_node, second, t.data);
    t.run();
    REQUIRE(t.b.seen.size() == 1);
    CHECK(t.b.seen[0].remote == second);
    REQUIRE(t.a.seen.size() == 1);
    CHECK(t.a.seen[0].local == second);
    CHECK(own.counters().delivered == 2);
}
