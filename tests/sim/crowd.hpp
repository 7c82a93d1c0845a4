// Many hosts with some connections each, through one line to one server; every connection carries one transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario.hpp"

namespace udtx::sim {

struct CrowdSetup {
    std::size_t hosts = 50;  ///< at most kMostHosts
    std::size_t each = 20;   ///< connections of a host; an endpoint allows one address 64 handshakes at once
    std::uint64_t bytes = 300'000;
    LinkParams line{};  ///< in both directions
    std::string congestion = "udtx";
    std::uint64_t seed = 1;
};

class Crowd {
  public:
    /// Each has an address of its own in a network of 256.
    static constexpr std::size_t kMostHosts = 240;

    explicit Crowd(const CrowdSetup& setup);
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    /// Until all have finished.
    void run(Duration at_most);
    [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }
    [[nodiscard]] std::size_t finished() const;
    /// Receivers that have every byte, and the right one.
    [[nodiscard]] std::size_t intact() const;
    [[nodiscard]] Duration elapsed() const { return events_.now() - kStart; }
    /// Jain's index of 1 / seconds of those that have finished.
    [[nodiscard]] double fairness() const;
    /// When so large a part of those that finished had; 0 to 1.
    [[nodiscard]] Duration finished_at(double part) const;

  private:
    [[nodiscard]] std::unique_ptr<SimHost> host(std::size_t last, std::uint16_t port);

    CrowdSetup setup_;
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
