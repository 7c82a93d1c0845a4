// Runs the protocol in an ns-3 node. The ns-3 Application owns one UdpSocket per address and drives the same core as
// io::Driver and the simulator, in ns-3's virtual time.
#pragma once

#include <ns3/application.h>
#include <ns3/ipv4-address.h>
#include <ns3/ptr.h>
#include <ns3/socket.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/protocol_host.hpp"

namespace udtx::papers {

[[nodiscard]] Address address_of(ns3::Ipv4Address ip, std::uint16_t port);

/// The core's present time: ns-3's time counted from the simulator's epoch.
[[nodiscard]] Instant virtual_now();

class Ns3Host final : public ns3::Application, public sim::ProtocolHost {
  public:
    static ns3::TypeId GetTypeId();
    /// Binds to `setup.address` and to each address of `more`. Each socket is bound to the device that has its address,
    /// and sends through that device. `on_start` listens or connects.
    Ns3Host(sim::HostSetup setup, std::vector<Address> more, std::function<void(Ns3Host&)> on_start);

  private:
    struct Bound {
        Address local;
        ns3::Ptr<ns3::Socket> socket;
    };

    void StartApplication() override;
    void StopApplication() override;
    [[nodiscard]] ns3::Ptr<ns3::Socket> bind(const Address& local);
    void on_readable(ns3::Ptr<ns3::Socket> socket);

    [[nodiscard]] Instant now() const override { return virtual_now(); }
    void send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn ecn) override;
    void set_alarm(Instant at, std::uint64_t tag) override;
    void call_at(Instant at, std::function<void()> action) override;

    std::function<void(Ns3Host&)> on_start_;
    std::vector<Address> locals_;
    std::vector<Bound> sockets_;
    std::vector<std::byte> received_;
};

}  // namespace udtx::papers
