// Sessions pass what they measured of a path to later ones.
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "session_fixture.hpp"
#include "test/temporary_directory.hpp"
#include "udtx/known_paths.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

/// What the controllers of all sessions of a test were passed.
struct Recalled {
    void add(const KnownPath& path, Duration rtt) {
        const std::lock_guard lock(mutex);
        paths.emplace_back(path, rtt);
    }
    [[nodiscard]] std::vector<std::pair<KnownPath, Duration>> take() {
        const std::lock_guard lock(mutex);
        return std::exchange(paths, {});
    }
    std::mutex mutex;
    std::vector<std::pair<KnownPath, Duration>> paths;
};

/// Measures 8 MB/s, whatever happens.
class Measuring final : public CongestionController {
  public:
    explicit Measuring(std::shared_ptr<Recalled> recalled) : recalled_(std::move(recalled)) {}
    void on_feedback(const CongestionFeedback& /*feedback*/) override {}
    [[nodiscard]] std::uint64_t window() const override { return 1'000'000; }
    [[nodiscard]] Rate pacing_rate() const override { return Rate::infinite(); }
    void recall(const KnownPath& path, Duration rtt) override { recalled_->add(path, rtt); }
    [[nodiscard]] std::optional<KnownPath> known_path() const override {
        return KnownPath{.capacity = Rate::bytes_per_second(8e6), .base_rtt = 1ms, .measured = monotonic_now()};
    }

  private:
    std::shared_ptr<Recalled> recalled_;
};

Credentials identity() {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "key";
    REQUIRE(Credentials::write_identity(path));
    auto made = Credentials::from_identity_file(path);
    REQUIRE(made);
    return *made;
}

struct KeyPair {
    Credentials client;
    Credentials server;
};

KeyPair key_pair() {
    KeyPair both{.client = identity(), .server = identity()};
    REQUIRE(both.server.trust(*both.client.public_key()));
    REQUIRE(both.client.trust(*both.server.public_key()));
    return both;
}

struct Visit {
    std::vector<std::pair<KnownPath, Duration>> recalled{};  ///< what the client's controller was passed
    bool local_known = false;                                ///< portable sockets do not tell the local address
};

/// Connects once and closes.
Visit visit(const Credentials& client, const Credentials& server, const std::string& host = "127.0.0.1") {
    const auto recalled = std::make_shared<Recalled>();
    TransportConfig config;
    config.congestion_factory = [recalled](const CongestionOptions&) { return std::make_unique<Measuring>(recalled); };
    auto listener = Listener::bind(host + ":0", server);
    REQUIRE(listener);
    Visit made;
    {
        auto session = Session::connect(host, listener->local_address().port, client, config);
        REQUIRE(session);
        const auto accepted = listener->accept(60s);
        REQUIRE(accepted);
        const auto stats = session->stats();
        REQUIRE(stats);
        made.local_known = stats->paths.at(0).local.family != Address::Family::none;
        session->close();
    }
    made.recalled = recalled->take();
    return made;
}

}  // namespace

TEST_CASE("a session recalls what an earlier one to the same peer over the same addresses measured") {
    const KeyPair first = key_pair();
    CHECK(visit(first.client, first.server).recalled.empty());
    const Visit again = visit(first.client, first.server);
    REQUIRE(again.recalled.size() == (again.local_known ? 1 : 0));
    for (const auto& [path, rtt] : again.recalled) {
        CHECK(path.capacity.bytes_per_second() == Approx(8e6));
        CHECK(rtt > Duration::zero());  // of the handshake
    }
    const KeyPair second = key_pair();
    CHECK(visit(second.client, second.server).recalled.empty());
    CHECK(visit(first.client, first.server, "127.0.0.2").recalled.empty());
    CHECK(visit(psk(1), psk(1)).recalled.empty());
    CHECK(visit(psk(1), psk(1)).recalled.empty());
}
