// The start of a transfer: how soon the sender knows the link's rate.
#include <algorithm>

#include "sim/check.hpp"
#include "sim/flows.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// Models the start of a transfer: a few bytes of control data at once, the file data once the disk has read it.
class LateData final : public App {
  public:
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) {
            const auto control = connection.open_stream(StreamKind::ordered);
            (void)connection.write(*control, pattern::chunk(0, 20));
            wake_at(now + 700us);
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
    std::optional<StreamId> data_;
};

}  // namespace

TEST_CASE("the first data are a train, although a small packet went before: the line is known a round trip later") {
    Scenario s(symmetric("late data", {.bits_per_second = 200'000'000, .delay = 50ms, .queue_bytes = 2'500'000}));
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<App>(); });
    s.client().connect(s.server().address(), std::make_shared<LateData>());
    const auto connected = [&] { return s.client().session().connected_at.has_value(); };
    SIM_REQUIRE(s, s.run_until(connected, 5s));
    s.run_for(700us + 100ms + kSynInterval + 3ms);  // the train itself takes about a millisecond
    const double mtr = s.client().session().stats().paths.at(0).congestion.mtr.bytes_per_second() * 8;
    SIM_CHECK(s, mtr > 0.9 * 200e6);
    SIM_CHECK(s, mtr < 1.05 * 200e6);
}

// A batch that is interrupted between its time stamp and the link has the delay of a queue. The delayed data then
// leaves in one burst, 10 ms of it, while a queue of other flows counts from 7 ms on. Taken for other flows, this left
// one of the six starts at a quarter of the link's rate.
TEST_CASE("a sender that is put aside while it starts does not take that for others on the line", "[whole]") {
    UDTX_WHOLE_ONLY();
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        FlowRigSetup setup;
        setup.name = "late at the start";
        setup.seed = seed_or_environment(seed);
        setup.bits_per_second = 500'000'000;
        setup.flows = {{.cc = "udtx"}};
        setup.noise = {.interrupted = 0.0003, .least = 8ms, .most = 12ms};
        FlowRig rig(setup);
        rig.run_for(3s);
        INFO(rig.table(1s, 3s));
        CHECK(rig.goodput(1s, 3s).bps() > 0.75 * 500e6);
    }
}

// The first train passes a link that is 15 or 30 % faster than the later one. The excess causes a queue, and losses if
// the buffer is short, but no other flow exists. If the sender starts at a fifth of C, as beside other flows, it takes
// up to 6 s to reach the link's rate again.
TEST_CASE("a train that told of too fast a line does not cost the start: what arrives tells that nobody else is there",
          "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const std::uint64_t told : {575'000'000U, 650'000'000U}) {
        for (const std::uint64_t queue : {1'250'000U, 6'250'000U}) {
            FlowRigSetup setup;
            setup.name = "a train too fast";
            setup.bits_per_second = told;
            setup.rtt = 200ms;
            setup.queue_bytes = queue;
            setup.shared_key = true;
            setup.flows = {{.cc = "udtx"}};
            FlowRig rig(setup);
            double known = 0.0;
            rig.at(450ms, [&] { known = rig.stats(0).congestion.mtr.bps(); });
            rig.at(450ms, [&] { rig.bottleneck().change([](LinkParams& p) { p.bits_per_second = 500'000'000; }); });
            rig.run_for(4s);
            INFO("told of " << told << ", queue " << queue << "\n" << rig.table(1500ms, 4s));
            REQUIRE(known > 0.9 * static_cast<double>(told));
            CHECK(rig.goodput(1500ms, 4s).bps() > 0.9 * 500e6);
        }
    }
}
