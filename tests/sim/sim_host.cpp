#include "sim/sim_host.hpp"

namespace udtx::sim {

SimHost::SimHost(EventQueue& events, Network& network, HostSetup setup)
    : ProtocolHost(setup),
      events_(events),
      network_(network),
      node_(network.add_node(setup.name, setup.address, this)) {}

void SimHost::on_datagram(Instant /*now*/, const Address& local, const Address& remote, std::span<std::byte> data) {
    receive(local, remote, data);
}

void SimHost::on_due(Instant /*now*/, std::uint64_t tag) { on_alarm(tag); }

}  // namespace udtx::sim
