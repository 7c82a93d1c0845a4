// The start of a transfer: how soon the line is known.
#include "sim/check.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// As a transfer begins: a few bytes of control at once, the data when the disk has given it.
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
        const auto opened = connection.open_stream(StreamKind::placed);
        if (opened) data_ = *opened;
        fill(connection);
    }

  private:
    void fill(proto::Connection& connection) {
        while (data_ && connection.write_capacity(*data_) > 0) {
            if (!connection.write(*data_, pattern::chunk(0, connection.write_capacity(*data_)))) return;
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
