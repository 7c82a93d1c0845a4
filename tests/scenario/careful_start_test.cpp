// Starts on a path that an earlier connection has measured (Careful Resume), in virtual time.
#include <algorithm>
#include <optional>

#include "sim/check.hpp"
#include "sim/flows.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

FlowRigSetup line(std::uint64_t bits_per_second, Duration rtt) {
    FlowRigSetup setup;
    setup.name = "known path";
    setup.bits_per_second = bits_per_second;
    setup.rtt = rtt;
    setup.flows = {{.cc = "udtx"}};
    return setup;
}

/// What a flow alone measures in 8 s.
KnownPath measured(const FlowRigSetup& setup) {
    FlowRig rig(setup);
    rig.run_for(8s);
    const auto known = rig.stats(0).known;
    REQUIRE(known);
    return *known;
}

struct End {
    double seconds = 0.0;
    PathStats path;
    double queue_later = 0.0;  // s, the longest from 3 s on
    std::uint64_t lost_later = 0;
};

End transfer(FlowRigSetup setup, std::uint64_t bytes, const std::optional<KnownPath>& known) {
    setup.flows[0].bytes = bytes;
    setup.flows[0].known = known;
    FlowRig rig(setup);
    rig.run_for(30s);
    INFO(rig.table(0s, 30s));
    REQUIRE(rig.completed(0));
    const std::uint64_t lost = rig.stats(0).lost_packets;
    return {.seconds = to_seconds(*rig.completed(0)),
            .path = rig.stats(0),
            .queue_later = to_seconds(rig.queue_delay(3s, 30s).max),
            .lost_later = lost - rig.samples().at(300).flows[0].lost_packets};
}

}  // namespace

TEST_CASE("a known path: a short transfer ends most of a round trip sooner") {
    const FlowRigSetup setup = line(100'000'000, 200ms);
    const KnownPath known = measured(setup);
    CHECK(known.capacity.bps() > 0.9 * 100e6);
    CHECK(known.capacity.bps() < 100e6);
    CHECK(to_seconds(known.base_rtt) == Approx(0.2).epsilon(0.02));
    for (const std::uint64_t bytes : {2'000'000U, 20'000'000U}) {
        const End usual = transfer(setup, bytes, std::nullopt);
        const End fast = transfer(setup, bytes, known);
        INFO(bytes << " bytes in " << usual.seconds << " s, on a known path in " << fast.seconds << " s");
        CHECK(fast.seconds < usual.seconds - 0.15);
        CHECK(fast.path.lost_packets == 0);
    }
}

TEST_CASE("a known path that lost nine tenths of its rate costs one window, and no time after it") {
    const KnownPath known = measured(line(100'000'000, 200ms));
    const FlowRigSetup slower = line(10'000'000, 200ms);
    const End usual = transfer(slower, 20'000'000, std::nullopt);
    const End fast = transfer(slower, 20'000'000, known);
    INFO("in " << usual.seconds << " s, on a known path in " << fast.seconds << " s; lost " << fast.path.lost_packets);
    const double window = 0.5 * known.capacity.bytes_per_second() * 0.2;
    CHECK(static_cast<double>(fast.path.lost_packets) * fast.path.datagram_bytes < window);
    CHECK(fast.lost_later == 0);
    CHECK(fast.queue_later < 0.05);  // the buffer holds 0.2 s
    CHECK(fast.seconds < usual.seconds + 0.5);
    REQUIRE(fast.path.known);  // the next connection knows better
    CHECK(fast.path.known->capacity.bps() < 10e6);
}

TEST_CASE("a known path that lost nine tenths of its rate is forgotten, even if nothing else is measured") {
    const KnownPath known = measured(line(100'000'000, 200ms));
    const End fast = transfer(line(10'000'000, 200ms), 900'000, known);
    REQUIRE(fast.path.known);
    CHECK(fast.path.known->capacity.is_zero());
}

TEST_CASE("a known path with jitter and random loss: both are no reason to retreat") {
    FlowRigSetup setup = line(36'000'000, 291ms);
    setup.loss = 0.05;
    setup.jitter = 9ms;
    const KnownPath known = measured(setup);
    CHECK(known.jitter > 1ms);
    double usual = 0.0;
    double fast = 0.0;
    for (const std::uint64_t seed : some_seeds(5)) {
        setup.seed = seed;
        usual += transfer(setup, 2'000'000, std::nullopt).seconds;
        fast += transfer(setup, 2'000'000, known).seconds;
    }
    INFO("together " << usual << " s, on a known path " << fast << " s");
    CHECK(fast < 0.85 * usual);
}

namespace {

/// Sends a little after the handshake, and the data a round trip later, as a transfer that waits for the answer of the
/// receiver.
class LateBulk final : public App {
  public:
    explicit LateBulk(const KnownPath& known) : known_(known) {}
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) {
            known_.measured = now;
            connection.recall(PathId{}, known_);
            const auto control = connection.open_stream(StreamKind::ordered);
            (void)connection.write(*control, pattern::chunk(0, 20));
            wake_at(now + 210ms);
        } else if (std::holds_alternative<proto::event::Writable>(event)) {
            fill(connection);
        }
    }
    void on_wake(Instant /*now*/, proto::Connection& connection) override {
        const auto opened = connection.open_stream(StreamKind::unordered);
        if (opened) data_ = *opened;
        fill(connection);
    }

  private:
    void fill(proto::Connection& connection) {
        while (data_ && connection.write_capacity(*data_) > 0) {
            const std::uint64_t bytes = std::min<std::uint64_t>(connection.write_capacity(*data_), pattern::kMaxChunk);
            if (!connection.write(*data_, pattern::chunk(0, bytes))) return;
        }
    }
    KnownPath known_;
    std::optional<StreamId> data_;
};

}  // namespace

TEST_CASE("a known path: the window waits for the data, though control data went before") {
    Scenario s(symmetric("late bulk", {.bits_per_second = 100'000'000, .delay = 100ms, .queue_bytes = 2'500'000}));
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<App>(); });
    const KnownPath known{.capacity = Rate::bits_per_second(96e6), .base_rtt = 200ms};
    s.client().connect(s.server().address(), std::make_shared<LateBulk>(known));
    const auto connected = [&] { return s.client().session().connected_at.has_value(); };
    SIM_REQUIRE(s, s.run_until(connected, 5s));
    s.run_for(210ms + 195ms);  // before the first ACK of the data
    const PathStats path = s.client().session().stats().paths.at(0);
    SIM_CHECK(s, path.in_flight > 1'000'000);  // half of 96 Mbit/s for 0.2 s; slow start sends 21,600 bytes
    SIM_CHECK(s, path.in_flight < 1'300'000);
}
