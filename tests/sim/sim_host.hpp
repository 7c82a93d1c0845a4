// A machine in the simulated network.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "sim/event_queue.hpp"
#include "sim/network.hpp"
#include "sim/protocol_host.hpp"

namespace udtx::sim {

/// A busy machine. The host's thread wakes up late, and the scheduler interrupts it between two packets that it sends.
/// Datagrams that arrive meanwhile wait with the kernel's stamp of their arrival.
struct HostNoise {
    double late = 0.0;         ///< probability that a wake-up comes late
    double interrupted = 0.0;  ///< probability that a send is interrupted; all sends after it wait too
    Duration least = std::chrono::microseconds(200);
    Duration most = std::chrono::milliseconds(2);
};

class SimHost final : public ProtocolHost, public Host, EventSink {
  public:
    SimHost(EventQueue& events, Network& network, HostSetup setup, const HostNoise& noise = {});

    [[nodiscard]] NodeId node() const noexcept { return node_; }
    /// Suspends the machine from now on. Arriving packets are lost, and due events wait until it wakes.
    void sleep_for(Duration length) { asleep_until_ = events_.now() + length; }

  private:
    void on_datagram(Instant now, const Address& local, const Address& remote, std::span<std::byte> data,
                     proto::Ecn ecn) override;
    void on_due(Instant now, std::uint64_t tag) override;

    [[nodiscard]] Instant now() const override { return events_.now(); }
    void send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn ecn) override;
    void set_alarm(Instant at, std::uint64_t tag) override { events_.schedule(at, *this, tag); }
    void call_at(Instant at, std::function<void()> action) override;

    /// Draws whether the thread is interrupted now, unless it has only just come back. True while the thread is away.
    bool away(double chance);
    [[nodiscard]] bool asleep() const noexcept { return events_.now() < asleep_until_; }

    EventQueue& events_;
    Network& network_;
    HostNoise noise_;
    Prng prng_;
    Instant away_until_{};
    Instant asleep_until_{};
    NodeId node_;
};

}  // namespace udtx::sim
