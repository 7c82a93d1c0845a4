// Many hosts with several connections each share one link to one server. Every connection carries one transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario.hpp"

namespace udtx::sim {

struct IncastSetup {
    std::size_t hosts = 50;  ///< at most kMostHosts
    std::size_t each = 20;   ///< connections per host; an endpoint allows one address 64 handshakes at once
    std::uint64_t bytes = 300'000;
    LinkParams line{};  ///< in both directions
    std::string congestion = "udtx";
    std::uint64_t seed = 1;
};

class Incast {
  public:
    /// Each host has an address of its own in a network of 256 addresses.
    static constexpr std::size_t kMostHosts = 240;

    explicit Incast(const IncastSetup& setup);
    Incast(const Incast&) = delete;
    Incast& operator=(const Incast&) = delete;

    /// Runs until all transfers have finished, at most for this time.
    void run(Duration at_most);
    [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }
    [[nodiscard]] std::size_t finished() const;
    /// Number of receivers that have every byte, each with the right value.
    [[nodiscard]] std::size_t intact() const;
    [[nodiscard]] Duration elapsed() const { return events_.now() - kStart; }
    /// Jain's index of 1 / seconds over the transfers that have finished.
    [[nodiscard]] double fairness() const;
    /// Time at which this part of the finished transfers was complete; `part` is 0 to 1.
    [[nodiscard]] Duration finished_at(double part) const;

  private:
    [[nodiscard]] std::unique_ptr<SimHost> host(std::size_t last, std::uint16_t port);

    IncastSetup setup_;
    TransportConfig config_;
    EventQueue events_;
    Network network_;
    Prng seeds_;
    std::unique_ptr<SimHost> server_;
    std::vector<std::unique_ptr<SimHost>> clients_;
    std::vector<std::shared_ptr<Sender>> senders_;
    std::vector<std::shared_ptr<Receiver>> receivers_;
};

}  // namespace udtx::sim
