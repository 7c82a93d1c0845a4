// Two hosts, a link in each direction, and a script of steps. A failure is reported with the seed and the steps before
// it.
//
//     Scenario s({.name = "F68 loss 30 %", .up = line, .down = line});
//     Bulk bulk = start_bulk(s, {.bytes = 1'000'000});
//     SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
//
// In the environment, UDTX_SIM_SEED=n runs every scenario with another seed, and UDTX_SIM_VERBOSE=1 prints the figures
// of each scenario at its end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/apps.hpp"
#include "sim/crypto_kit.hpp"
#include "sim/event_queue.hpp"
#include "sim/network.hpp"
#include "sim/sim_host.hpp"
#include "udtx/config.hpp"

namespace udtx::sim {

struct ScenarioSetup {
    std::string name;
    std::uint64_t seed = 1;
    LinkParams up{};    ///< client to server
    LinkParams down{};  ///< server to client
    TransportConfig client{};
    TransportConfig server{};
    CryptoKit* crypto = nullptr;                  ///< null: shared_kit()
    CryptoKit* server_crypto = nullptr;           ///< null: the same as the client's
    crypto::Provider* client_provider = nullptr;  ///< makes the packet keys instead of the kit's provider
    crypto::Provider* server_provider = nullptr;
    /// If both ends have the same key, the handshake needs no cookie
    std::optional<crypto::Secret> client_hello_key{};
    std::optional<crypto::Secret> server_hello_key{};
    /// Allows a restarted server to reset its earlier connections
    std::optional<crypto::Secret> server_reset_key{};
    std::size_t packet_threads = 0;  ///< at both hosts, see HostSetup
    proto::Experiment client_experiment{};
    proto::Experiment server_experiment{};
    HostNoise client_noise{};
    HostNoise server_noise{};
};

/// OpenSSL with one pre-shared key, created once per process.
[[nodiscard]] CryptoKit& shared_kit();

class Scenario {
  public:
    explicit Scenario(ScenarioSetup setup);
    ~Scenario();
    Scenario(const Scenario&) = delete;
    Scenario& operator=(const Scenario&) = delete;

    [[nodiscard]] EventQueue& events() noexcept { return events_; }
    [[nodiscard]] Network& network() noexcept { return network_; }
    [[nodiscard]] Link& up() noexcept { return *up_; }
    [[nodiscard]] Link& down() noexcept { return *down_; }
    [[nodiscard]] SimHost& client() noexcept { return *client_; }
    [[nodiscard]] SimHost& server() noexcept { return *server_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
    [[nodiscard]] Duration elapsed() const noexcept { return events_.now() - kStart; }

    /// Adds a line to the history.
    void note(const std::string& what);
    /// Schedules a step of the script at this time after the start.
    void at(Duration when, const std::string& what, std::function<void()> action);
    /// Runs until `done()` or until this time after the start. Returns true if `done()` holds.
    bool run_until(const std::function<bool()>& done, Duration deadline);
    void run_for(Duration time);

    /// Name, seed, steps so far, counters.
    [[nodiscard]] std::string history() const;

  private:
    void run_events(const std::function<bool()>& done, Instant deadline);

    std::string name_;
    std::uint64_t seed_;
    EventQueue events_;
    Network network_;
    Link* up_ = nullptr;
    Link* down_ = nullptr;
    std::unique_ptr<SimHost> client_;
    std::unique_ptr<SimHost> server_;
    std::vector<std::string> steps_;
};

/// One transfer from the client to the server.
struct Bulk {
    std::uint64_t bytes = 0;
    std::shared_ptr<Sender> sender;
    std::shared_ptr<Receiver> receiver;
    [[nodiscard]] bool done() const { return sender->delivered_at() && receiver->complete(bytes); }
};
struct BulkOptions {
    std::uint64_t bytes = 0;
    StreamKind kind = StreamKind::unordered;
    bool close_when_delivered = true;
    Duration writer_late{};
    Receiver::Options reader{};
};
/// Listens on the server and connects from the client.
[[nodiscard]] Bulk start_bulk(Scenario& scenario, const BulkOptions& options);

/// A setup with the same link parameters in both directions.
[[nodiscard]] ScenarioSetup symmetric(std::string name, const LinkParams& line, std::uint64_t seed = 1);

/// The seed to use: UDTX_SIM_SEED if set.
[[nodiscard]] std::uint64_t seed_or_environment(std::uint64_t seed);

/// 1 in plain builds, less under sanitizers. It scales the sizes of long scenarios.
[[nodiscard]] double size_scale() noexcept;

/// True if cases of the fault matrix run at the full size of the matrix (UDTX_WHOLE_MATRIX=1), which takes minutes.
[[nodiscard]] bool whole_matrix() noexcept;

/// First line of a case tagged [whole]. Such a case proves nothing at a smaller size, so it is skipped. ctest reports
/// it as skipped because of the printed line.
#define UDTX_WHOLE_ONLY()                                                                                       \
    if (::udtx::sim::size_scale() < 1.0) {                                                                      \
        std::puts("SKIPPED: this case takes an optimised build without assertions or sanitizers (./dev test)"); \
        return;                                                                                                 \
    }                                                                                                           \
    static_cast<void>(0)

}  // namespace udtx::sim
