// The end of a connection: how soon both ends have released it, and what the parts of a transfer cost besides its
// bytes.
#include <algorithm>
#include <memory>
#include <utility>

#include "sim/check.hpp"
#include "test/fault_case.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

bool both_empty(Scenario& s) {
    return s.client().endpoint().connection_count() == 0 && s.server().endpoint().connection_count() == 0;
}

}  // namespace

TEST_CASE("both ends are done one round trip after the last acknowledgement") {
    for (const Duration delay : {1ms, 50ms, 300ms}) {
        auto setup = symmetric("end of a transfer", {.bits_per_second = 200'000'000, .delay = delay});
        setup.client.handshake_timeout = 30s;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = 2'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->complete_at().has_value(); }, 60s));
        const Duration complete = s.elapsed();
        SIM_REQUIRE(s, s.run_until([&] { return s.server().session().closed.has_value(); }, 70s));
        // One way each: the acknowledgement, the client's CLOSE, and the server's answer.
        SIM_CHECK(s, s.elapsed() - complete <= 2 * delay + 2 * kSynInterval);
        SIM_REQUIRE(s, s.run_until([&] { return both_empty(s); }, 70s));
        SIM_CHECK(s, s.elapsed() - complete <= 3 * delay + 2 * kSynInterval);
        SIM_CHECK(s, s.client().session().closed->orderly());
        SIM_CHECK(s, s.server().session().closed->orderly());
    }
}

TEST_CASE("both ends close at once: each takes the other's CLOSE for the answer") {
    Scenario s(symmetric("both close", {.delay = 50ms}));
    const Bulk bulk = start_bulk(s, {.bytes = 100'000'000, .close_when_delivered = false});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->received() > 50'000; }, 10s));
    const Duration when = s.elapsed() + 1ms;
    s.at(when, "both close", [&] {
        s.client().session().connection->close(s.events().now(), 3, "client");
        s.server().session().connection->close(s.events().now(), 4, "server");
    });
    SIM_REQUIRE(s, s.run_until([&] { return s.elapsed() > when && both_empty(s); }, when + 2s));
    // Packets that were queued before the client's CLOSE take link time first.
    SIM_CHECK(s, s.elapsed() - when <= 50ms + 100ms);
}

TEST_CASE("an answer that is lost costs no more than waiting used to") {
    Scenario s(symmetric("answer lost", {.delay = 20ms}));
    const Bulk bulk = start_bulk(s, {.bytes = 100'000});
    SIM_REQUIRE(s, s.run_until([&] { return !s.server().sessions().empty() && s.server().session().closed; }, 10s));
    const Duration told = s.elapsed();
    s.down().change([](LinkParams& p) { p.loss = 1.0; });
    SIM_REQUIRE(s, s.run_until([&] { return both_empty(s); }, told + 5s));
    SIM_CHECK(s, s.elapsed() - told <= 1500ms);
}

// The controller is not under test. Its rate is given, so that only round trips remain.
TEST_CASE("200 Mbit/s and 100 ms: besides its bytes a transfer takes four and a half round trips") {
    constexpr std::uint64_t kBytes = 20'000'000;
    LinkParams line{.bits_per_second = 200'000'000, .delay = 50ms, .queue_bytes = 2'500'000};
    auto setup = symmetric("dead time", line);
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->received() > 0; }, 5s));
    // HELLO, RETRY, HELLO with cookie, the server's flight, the client's last flight together with the first data.
    SIM_CHECK(s, s.elapsed() <= 250ms + 5ms);
    SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->complete_at().has_value(); }, 60s));
    const Duration complete = s.elapsed();
    SIM_REQUIRE(s, s.run_until([&] { return both_empty(s); }, 60s));
    SIM_CHECK(s, s.elapsed() - complete <= 150ms + 2 * kSynInterval);
}

// A sender whose transfer is confirmed does not wait for an answer, so it sends its three copies early.
TEST_CASE("an orderly end is repeated after half a SYN interval, an abrupt one after a probe timeout") {
    for (const bool orderly : {true, false}) {
        Scenario s(symmetric("copies of the close", {.delay = 50ms}));
        const Bulk bulk = start_bulk(s, {.bytes = 100'000, .close_when_delivered = false});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 10s));
        s.run_for(1s);
        const std::uint64_t before = s.client().counters().datagrams_sent;
        s.at(s.elapsed(), "close",
             [&] { s.client().session().connection->close(s.events().now(), orderly ? 0 : 3, "the end"); });
        s.run_for(kSynInterval + 1ms);
        SIM_CHECK(s, s.client().counters().datagrams_sent - before == (orderly ? 3U : 1U));
        SIM_CHECK(s, s.run_until([&] { return both_empty(s); }, s.elapsed() + 200ms));
    }
}

namespace {

/// Makes unexpected calls in each callback: closes again, connects, and releases itself.
class Unruly final : public App {
  public:
    Unruly(SimHost& host, const Address& server, int depth) : host_(host), server_(server), depth_(depth) {}
    void hold(std::shared_ptr<Unruly> self) { self_ = std::move(self); }
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) {
            connection.close(now, 7, "first");
            connection.close(now, 8, "second");
            if (depth_ > 0) connect_one(host_, server_, depth_ - 1);
        }
        if (std::holds_alternative<proto::event::Closed>(event)) {
            connection.close(now, 9, "third");
            self_.reset();
        }
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

    static void connect_one(SimHost& host, const Address& server, int depth) {
        auto app = std::make_shared<Unruly>(host, server, depth);
        app->hold(app);
        host.connect(server, std::move(app));
    }

  private:
    SimHost& host_;
    Address server_;
    int depth_;
    std::shared_ptr<Unruly> self_;
};

}  // namespace

TEST_CASE("F89 a callback may close twice, connect and let go of its object: the first close counts") {
    Scenario s(symmetric("calls from callbacks", {}));
    s.server().listen(64, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    constexpr int kDepth = 19;
    Unruly::connect_one(s.client(), s.server().address(), kDepth);
    const auto over = [&] {
        return s.client().sessions().size() == kDepth + 1 &&
               std::ranges::all_of(s.client().sessions(),
                                   [](const auto& session) { return session->closed.has_value(); });
    };
    SIM_REQUIRE(s, s.run_until(over, 60s));
    const auto first = std::ranges::count_if(s.client().sessions(),
                                             [](const auto& session) { return session->closed->message == "first"; });
    SIM_CHECK(s, first == kDepth + 1);
    s.run_for(20s);
    SIM_CHECK(s, both_empty(s));
    test::fault_case(89, "20 connections that callbacks close three times, open and release: the first close counts",
                     first, " of ", kDepth + 1);
}
