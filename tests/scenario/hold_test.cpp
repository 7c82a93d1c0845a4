// The causes that a connection reports for not sending faster.
#include <numeric>

#include "sim/check.hpp"
#include "sim/scenario.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

LinkParams line() {
    LinkParams out;
    out.bits_per_second = 50'000'000;
    out.delay = 10ms;
    out.queue_bytes = 125'000;
    return out;
}

/// Part of the time since the handshake with this cause.
double share(const ConnectionStats& stats, SendHold why) {
    const auto sum = std::accumulate(stats.held.begin(), stats.held.end(), Duration::zero());
    return to_seconds(stats.held[static_cast<std::size_t>(why)]) / to_seconds(sum);
}

/// Writes this many bytes every 10 ms.
class SlowSource final : public App {
  public:
    SlowSource(std::size_t chunk, unsigned rounds) : chunk_(chunk), left_(rounds) {}
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (!std::holds_alternative<proto::event::Connected>(event)) return;
        stream_ = connection.open_stream(StreamKind::unordered).value();
        write(now, connection);
    }
    void on_wake(Instant now, proto::Connection& connection) override { write(now, connection); }

  private:
    void write(Instant now, proto::Connection& connection) {
        if (left_ == 0) return;
        REQUIRE(connection.write(stream_, pattern::chunk(written_, chunk_)));
        written_ += chunk_;
        if (--left_ > 0) wake_at(now + 10ms);
    }
    std::size_t chunk_;
    unsigned left_;
    std::uint64_t written_ = 0;
    StreamId stream_;
};

}  // namespace

TEST_CASE("a full line is the network's hold, with one path") {
    Scenario s(symmetric("held by the network", line()));
    const Bulk bulk = start_bulk(s, {.bytes = 100'000'000});
    s.run_for(6s);
    const auto stats = s.client().session().connection->stats();
    SIM_CHECK(s, share(stats, SendHold::network) > 0.9);
    SIM_CHECK(s, stats.hold == SendHold::network);
}

TEST_CASE("a rate cap below the line is the cap's hold, whatever the controller") {
    for (const char* cc : {"udtx", "cubic", "udt"}) {
        auto setup = symmetric(std::string("held by the cap, ") + cc, line());
        setup.client.congestion = cc;
        setup.client.max_rate = Rate::bits_per_second(10e6);
        Scenario s(setup);
        const Bulk bulk = start_bulk(s, {.bytes = 100'000'000});
        s.run_for(6s);
        SIM_CHECK(s, share(s.client().session().connection->stats(), SendHold::cap) > 0.8);
    }
}

TEST_CASE("a reader that is slow is the hold of flow control") {
    auto setup = symmetric("held by the reader", line());
    setup.server.stream_window = 1U << 20U;
    Scenario s(setup);
    const Bulk bulk =
        start_bulk(s, {.bytes = 100'000'000, .reader = {.bytes_per_second = 500'000, .read_every = 10ms}});
    s.run_for(10s);
    SIM_CHECK(s, share(s.client().session().connection->stats(), SendHold::credit) > 0.8);
}

TEST_CASE("a source that is slow is the application's hold") {
    Scenario s(symmetric("held by the source", line()));
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    s.client().connect(s.server().address(), std::make_shared<SlowSource>(5'000, 500));
    s.client().pump();
    s.run_for(5s);
    SIM_CHECK(s, share(s.client().session().connection->stats(), SendHold::application) > 0.8);
}
