// The share that udtx claims beside flows that fill the queue, as its drains measure theirs.
#include "congestion/udtx/compete.hpp"

#include <algorithm>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr Instant kStart = Instant(1h);
constexpr Duration kBase = 50ms;

/// Flows with claims on a link, drains of all of them each 2 s. Competing flows take the rest.
struct Link {
    std::vector<UdtxClaim> flows;
    double queue = 0.1;  ///< before each drain, s
    double loss = 0.0;
    bool emptied = false;
    Duration drain = 50ms;
    Duration base = kBase;  ///< that the flows know
    Instant now = kStart;

    double sum() const {
        double total = 0.0;
        for (const UdtxClaim& flow : flows) total += flow.share();
        return total;
    }

    /// `others_fall`: by how much more the competing flows let the queue fall.
    void step(Duration others_fall = {}) {
        now += 2s;
        // What arrives beyond the link's rate is lost before the drain lowers the queue.
        const double fall = std::max(0.0, 0.75 * sum() - loss / (1.0 - loss));
        for (UdtxClaim& flow : flows) {
            flow.on_drain({.begin = now, .end = now + drain, .part = 0.25, .base = base, .dead = 400us});
            std::vector<ArrivalSample> arrivals;
            for (Duration t = -10ms; t <= drain; t += 5ms) {
                const double fallen = fall * to_seconds(std::max(t, Duration::zero()));
                const Duration delay = kBase + from_seconds(std::max(0.0, queue - fallen));
                arrivals.push_back({0, now + t, t > drain / 2 ? std::max(kBase, delay - others_fall) : delay});
            }
            flow.on_arrivals(arrivals);
        }
        std::vector<double> shares;
        for (const UdtxClaim& flow : flows) shares.push_back(flow.share());
        for (std::size_t i = 0; i < flows.size(); ++i)
            flows[i].on_drained({.share = shares[i], .loss = loss, .emptied = emptied});
    }

    void run(int drains) {
        for (int i = 0; i < drains; ++i) step();
    }
};

Link claims(const std::vector<double>& shares) {
    Link link;
    for (const double share : shares) {
        UdtxClaim claim;
        claim.begin(share);
        link.flows.push_back(claim);
    }
    return link;
}

}  // namespace

TEST_CASE("udtx claim: one flow beside others takes half, from any start") {
    for (const double start : {0.1, 0.9}) {
        Link link = claims({start});
        link.run(8);
        CHECK(link.flows[0].share() == Approx(0.5).epsilon(0.02));
        CHECK(link.flows[0].others() == Approx(0.5).epsilon(0.02));
    }
}

TEST_CASE("udtx claim: three flows leave a fourth its quarter, and become equal") {
    Link link = claims({0.4, 0.25, 0.1});
    link.run(30);
    for (const UdtxClaim& flow : link.flows) CHECK(flow.share() == Approx(0.25).epsilon(0.05));
}

TEST_CASE("udtx claim: flows that claim too much retreat, though their excess is lost") {
    Link link = claims({0.5, 0.5, 0.5});
    link.loss = 1.0 - 1.0 / 1.5;
    link.step();
    CHECK(link.flows[0].share() < 0.4);
}

TEST_CASE("udtx claim: the excess that a full queue drops counts as part of the sum") {
    // 3 % lost: 0.03 of C more arrives, and the queue of one flow falls by so much less.
    Link link = claims({0.5, 0.2});
    link.loss = 0.03;
    link.run(3);
    CHECK(1.0 - link.flows[0].others() == Approx(link.sum()).epsilon(0.03));
}

TEST_CASE("udtx claim: one drain with others' pause does not lower it") {
    Link link = claims({0.5});
    link.run(3);
    link.step(30ms);
    CHECK(link.flows[0].share() == Approx(0.5).epsilon(0.02));
}

TEST_CASE("udtx claim: shrinks where others ignore loss") {
    Link link = claims({0.5});
    link.loss = 0.08;
    link.run(20);
    CHECK(link.flows[0].share() < 0.35);
    CHECK(link.flows[0].share() > 0.1);
}

TEST_CASE("udtx claim: is over after three drains in a row that emptied the queue") {
    Link link = claims({0.3});
    link.queue = 0.01;
    link.emptied = true;
    link.run(2);
    link.emptied = false;
    link.step();
    link.emptied = true;
    link.run(2);
    CHECK_FALSE(link.flows[0].over());
    link.step();
    CHECK(link.flows[0].over());
    link.flows[0].begin(0.1);
    CHECK_FALSE(link.flows[0].over());
}

TEST_CASE("udtx claim: a drain below the base did not empty the queue") {
    Link link = claims({0.5});
    link.base = kBase + 90ms;  // the flow came into a queue of so much
    link.emptied = true;
    link.run(6);
    CHECK_FALSE(link.flows[0].over());
    CHECK(link.flows[0].share() == Approx(0.5).epsilon(0.02));
}

TEST_CASE("udtx claim: a queue that empties early in the drain shows the same sum") {
    Link link = claims({0.3, 0.3});
    link.queue = 0.01;  // empty after 20 ms of 50 ms
    link.run(20);
    CHECK(1.0 - link.flows[0].others() == Approx(link.sum()).epsilon(0.15));
    CHECK(link.sum() == Approx(2.0 / 3.0).epsilon(0.15));
}
