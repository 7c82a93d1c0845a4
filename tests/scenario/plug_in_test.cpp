// Congestion controllers and path schedulers that the application provides.
#include <cerrno>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "multipath_rig.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kLine{.bits_per_second = 40'000'000, .delay = 10ms, .queue_bytes = 100'000};

/// A window of a given number of datagrams, without pacing.
class FixedWindow final : public CongestionController {
  public:
    FixedWindow(const CongestionOptions& options, std::uint64_t datagrams)
        : datagrams_(datagrams), datagram_bytes_(options.datagram_bytes) {}
    void on_feedback(const CongestionFeedback& /*feedback*/) override {}
    void on_limits(const PathLimits& limits) override { datagram_bytes_ = limits.datagram_bytes; }
    [[nodiscard]] std::uint64_t window() const override { return datagrams_ * datagram_bytes_; }
    [[nodiscard]] Rate pacing_rate() const override { return Rate::infinite(); }

  private:
    std::uint64_t datagrams_;
    std::uint64_t datagram_bytes_;
};

/// Fails in the middle of a connection.
class Broken final : public CongestionController {
  public:
    explicit Broken(std::function<void()> fail) : fail_(std::move(fail)) {}
    void on_feedback(const CongestionFeedback& feedback) override {
        if (feedback.largest_acked > 100) fail_();
    }
    [[nodiscard]] std::uint64_t window() const override { return 50'000; }
    [[nodiscard]] Rate pacing_rate() const override { return Rate::infinite(); }

  private:
    std::function<void()> fail_;
};

/// Returns a given answer, whatever the paths are.
class Fixed final : public PathScheduler {
  public:
    using Answer = std::function<PathPick(const StreamDemand& demand)>;
    explicit Fixed(Answer answer) : answer_(std::move(answer)) {}
    std::optional<PathPick> pick(Instant /*now*/, const StreamDemand& demand,
                                 std::span<const PathView> /*paths*/) override {
        return answer_(demand);
    }

  private:
    Answer answer_;
};

/// Uses one path for everything.
class Only final : public PathScheduler {
  public:
    explicit Only(PathId path) : path_(path) {}
    std::optional<PathPick> pick(Instant /*now*/, const StreamDemand& demand,
                                 std::span<const PathView> paths) override {
        const bool waits = std::ranges::any_of(paths, [&](const auto& p) { return p.id == path_ && !p.may_send; });
        return waits ? std::nullopt : std::optional(PathPick{.path = path_, .from = demand.next});
    }

  private:
    PathId path_;
};

TransportConfig with_window(std::uint64_t datagrams) {
    TransportConfig config;
    config.congestion = "fixed window";
    config.congestion_factory = [datagrams](const CongestionOptions& options) {
        return std::make_unique<FixedWindow>(options, datagrams);
    };
    return config;
}

/// How a connection of two paths ends if its scheduler answers like this.
proto::CloseReason end_by_pick(const Fixed::Answer& answer) {
    TransportConfig config;
    config.scheduler_factory = [&answer] { return std::make_unique<Fixed>(answer); };
    MultipathRig rig({.name = "broken scheduler", .lines = {kLine, kLine}, .client = config});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 5'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return rig.client().closed.has_value(); }, 20s));
    SIM_CHECK(s, rig.client().closed->code == ErrorCode::internal);
    SIM_CHECK(s, !bulk.done());
    return *rig.client().closed;
}

/// How a connection with this configuration ends; the other end has the default configuration.
proto::CloseReason end_of(const TransportConfig& config, bool of_server) {
    auto setup = symmetric("no plug-in", kLine);
    (of_server ? setup.server : setup.client) = config;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 20s));
    SIM_CHECK(s, s.client().session().closed->by_peer == of_server);
    SIM_CHECK(s, !bulk.done());
    return *s.client().session().closed;
}

}  // namespace

TEST_CASE("a controller of the application's own decides how fast") {
    auto setup = symmetric("own controller", kLine);
    setup.client = with_window(10);
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 2'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    // Ten datagrams per round trip, at any rate of the link.
    const double round_trips = to_seconds(s.elapsed()) / 0.02;
    SIM_CHECK(s, round_trips > 2'000'000 / (10.0 * 1472));
    SIM_CHECK(s, s.client().session().stats().congestion == "fixed window");
    SIM_CHECK(s, s.client().session().stats().paths.at(0).lost_packets == 0);
}

TEST_CASE("a controller of one's own is held to the cap and up by the floor") {
    const auto rate = [](Rate cap, Rate floor) {
        auto setup = symmetric("cap and floor", kLine);
        setup.client = with_window(floor.is_zero() ? 100 : 1);
        setup.client.max_rate = cap;
        setup.client.min_rate = floor;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = 4'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 120s));
        return 4'000'000 * 8.0 / to_seconds(s.elapsed());
    };
    CHECK(rate(Rate::bits_per_second(5e6), {}) == Approx(5e6).epsilon(0.1));
    CHECK(rate(Rate::infinite(), Rate::bits_per_second(20e6)) > 18e6);
}

TEST_CASE("a scheduler of the application's own decides which way") {
    for (const auto path : std::array<std::uint8_t, 2>{0, 1}) {
        TransportConfig config;
        config.reinject = false;
        config.scheduler_factory = [path] { return std::make_unique<Only>(PathId{path}); };
        MultipathRig rig({.name = "own scheduler", .lines = {kLine, kLine}, .client = config});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 5'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, rig.path(path).delivered_bytes > 4'900'000);
        SIM_CHECK(s, rig.path(1U - path).delivered_bytes < 100'000);
    }
}

TEST_CASE("a pick that leads nowhere ends the connection and says so") {
    const std::string own = "the scheduler of TransportConfig::scheduler_factory picked ";
    CHECK(end_by_pick([](const auto& demand) { return PathPick{.path = PathId{200}, .from = demand.next}; }).message ==
          own + "path 200, which does not exist");
    CHECK(end_by_pick([](const auto&) {
              return PathPick{.path = PathId{0}, .from = 1ULL << 40U};
          }).message.starts_with(own + "offset 1099511627776, behind which nothing may be sent (the end is "));
    // Everything from this offset on has already been assigned to a path.
    const auto last_one = [](const StreamDemand& demand) {
        const auto end = std::min(demand.limit, demand.written);
        return PathPick{.path = PathId{0}, .from = end - std::min<std::uint64_t>(end, 1000)};
    };
    CHECK(end_by_pick(last_one).message.starts_with(own + "offset "));
}

TEST_CASE("no controller ends the connection, at either end") {
    TransportConfig none;
    none.congestion_factory = [](const CongestionOptions&) { return nullptr; };
    TransportConfig throws;
    throws.congestion_factory = [](const CongestionOptions&) -> std::unique_ptr<CongestionController> {
        throw std::runtime_error("no licence");
    };
    CHECK(end_of(none, false).code == ErrorCode::invalid_argument);
    CHECK(end_of(none, false).message == "TransportConfig: congestion_factory gave no controller");
    CHECK(end_of(throws, false).message == "TransportConfig: congestion_factory failed: no licence");
    CHECK(end_of(none, true).code == ErrorCode::internal);
    CHECK(end_of(throws, true).code == ErrorCode::internal);
}

TEST_CASE("no scheduler ends the connection when it is to have a second path") {
    for (const bool of_server : {false, true}) {
        TransportConfig config;
        config.scheduler_factory = [] { return nullptr; };
        RigSetup setup{.name = "no scheduler", .lines = {kLine, kLine}};
        (of_server ? setup.server : setup.client) = config;
        MultipathRig rig(std::move(setup));
        Scenario& s = rig.scenario();
        (void)start_bulk(s, {.bytes = 20'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return rig.client().connected_at.has_value(); }, 20s));
        SIM_CHECK(s, rig.open(1).ok() == of_server);
        s.client().pump();
        SIM_REQUIRE(s, s.run_until([&] { return rig.client().closed.has_value(); }, 20s));
        SIM_CHECK(s, rig.client().closed->code == (of_server ? ErrorCode::internal : ErrorCode::invalid_argument));
    }
}

TEST_CASE("a controller that throws ends its own connection only") {
    auto setup = symmetric("broken", kLine);
    int made = 0;
    setup.client.congestion_factory =
        [&made](const CongestionOptions& options) -> std::unique_ptr<CongestionController> {
        if (++made == 1) return std::make_unique<Broken>([] { throw std::runtime_error("not thought of"); });
        return std::make_unique<FixedWindow>(options, 20);
    };
    Scenario s(std::move(setup));
    std::vector<std::shared_ptr<Receiver>> receivers;
    s.server().listen(2, [&](proto::Connection&) { return receivers.emplace_back(std::make_shared<Receiver>()); });
    for (int i = 0; i < 2; ++i) {
        s.client().connect(s.server().address(), std::make_shared<Sender>(Sender::Options{.bytes = 2'000'000}));
    }
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session(1).closed.has_value(); }, 60s));
    SIM_REQUIRE(s, s.client().session(0).closed.has_value());
    SIM_CHECK(s, s.client().session(0).closed->code == ErrorCode::internal);
    SIM_CHECK(s, s.client().session(0).closed->message ==
                     "the controller of TransportConfig::congestion_factory failed: not thought of");
    SIM_CHECK(s, s.client().session(1).closed->orderly());
    SIM_CHECK(s, std::ranges::any_of(receivers, [](const auto& r) { return r->complete(2'000'000); }));
}

TEST_CASE("a scheduler that throws ends its connection with what it says") {
    const std::string failed = "the scheduler of TransportConfig::scheduler_factory failed";
    CHECK(end_by_pick([](const auto&) -> PathPick { throw std::runtime_error("no way in mind"); }).message ==
          failed + ": no way in mind");
    CHECK(end_by_pick([](const auto&) -> PathPick { throw 7; }).message == failed);
    // A system error in the program's own code is not an error of this library.
    const proto::CloseReason met = end_by_pick(
        [](const auto&) -> PathPick { throw std::system_error(ENOENT, std::generic_category(), "no table"); });
    CHECK(met.code == ErrorCode::internal);
    CHECK(met.message.starts_with(failed + ": no table"));
}

TEST_CASE("a controller that throws what is no exception ends its connection") {
    TransportConfig config;
    config.congestion_factory = [](const CongestionOptions&) { return std::make_unique<Broken>([] { throw 7; }); };
    const proto::CloseReason end = end_of(config, false);
    CHECK(end.code == ErrorCode::internal);
    CHECK(end.message == "the controller of TransportConfig::congestion_factory failed");
}
