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

class SimHost final : public ProtocolHost, public Host, EventSink {
  public:
    SimHost(EventQueue& events, Network& network, HostSetup setup);

    [[nodiscard]] NodeId node() const noexcept { return node_; }

  private:
    void on_datagram(Instant now, const Address& local, const Address& remote, std::span<std::byte> data) override;
    void on_due(Instant now, std::uint64_t tag) override;

    [[nodiscard]] Instant now() const override { return events_.now(); }
    void send(const Address& to, std::span<const std::byte> datagram) override { network_.send(node_, to, datagram); }
    void set_alarm(Instant at, std::uint64_t tag) override { events_.schedule(at, *this, tag); }
    void call_at(Instant at, std::function<void()> action) override { events_.call_at(at, std::move(action)); }

    EventQueue& events_;
    Network& network_;
    NodeId node_;
};

}  // namespace udtx::sim
