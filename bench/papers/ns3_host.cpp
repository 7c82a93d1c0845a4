#include "ns3_host.hpp"

#include <ns3/inet-socket-address.h>
#include <ns3/node.h>
#include <ns3/packet.h>
#include <ns3/simulator.h>
#include <ns3/udp-socket-factory.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/event_queue.hpp"

namespace udtx::papers {
namespace {

constexpr std::size_t kMaxDatagram = 65535;

ns3::InetSocketAddress to_ns3(const Address& address) {
    const std::uint32_t ip = (std::uint32_t{address.ip[0]} << 24U) | (std::uint32_t{address.ip[1]} << 16U) |
                             (std::uint32_t{address.ip[2]} << 8U) | std::uint32_t{address.ip[3]};
    return {ns3::Ipv4Address(ip), address.port};
}

ns3::Time delay_until(Instant at) { return ns3::NanoSeconds(std::max<std::int64_t>(0, (at - virtual_now()).count())); }

}  // namespace

Address address_of(ns3::Ipv4Address ip, std::uint16_t port) {
    Address address;
    address.family = Address::Family::v4;
    address.port = port;
    ip.Serialize(address.ip.data());
    return address;
}

Instant virtual_now() { return sim::kStart + Duration(ns3::Simulator::Now().GetNanoSeconds()); }

ns3::TypeId Ns3Host::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("udtx::Ns3Host").SetParent<ns3::Application>();
    return id;
}

Ns3Host::Ns3Host(sim::HostSetup setup, std::function<void(Ns3Host&)> on_start)
    : ProtocolHost(std::move(setup)), on_start_(std::move(on_start)), received_(kMaxDatagram) {}

void Ns3Host::StartApplication() {
    socket_ = ns3::Socket::CreateSocket(GetNode(), ns3::UdpSocketFactory::GetTypeId());
    if (socket_->Bind(to_ns3(address())) != 0) throw std::runtime_error("ns-3 does not bind the socket");
    socket_->SetRecvCallback(ns3::MakeCallback(&Ns3Host::on_readable, this));
    on_start_(*this);
}

void Ns3Host::StopApplication() {
    if (socket_) socket_->Close();
}

void Ns3Host::on_readable(ns3::Ptr<ns3::Socket> socket) {
    ns3::Address from;
    while (const ns3::Ptr<ns3::Packet> packet = socket->RecvFrom(from)) {
        const std::uint32_t size = packet->CopyData(reinterpret_cast<std::uint8_t*>(received_.data()),
                                                    static_cast<std::uint32_t>(received_.size()));
        const auto peer = ns3::InetSocketAddress::ConvertFrom(from);
        receive(address(), address_of(peer.GetIpv4(), peer.GetPort()), std::span(received_).first(size));
    }
}

void Ns3Host::send(const Address& /*from*/, const Address& to, std::span<const std::byte> datagram) {
    const auto packet = ns3::Create<ns3::Packet>(reinterpret_cast<const std::uint8_t*>(datagram.data()),
                                                 static_cast<std::uint32_t>(datagram.size()));
    if (socket_->SendTo(packet, 0, to_ns3(to)) < 0) throw std::runtime_error("ns-3 does not take a datagram");
}

void Ns3Host::set_alarm(Instant at, std::uint64_t tag) {
    ns3::Simulator::Schedule(delay_until(at), &Ns3Host::on_alarm, this, tag);
}

void Ns3Host::call_at(Instant at, std::function<void()> action) {
    ns3::Simulator::Schedule(delay_until(at), std::move(action));
}

}  // namespace udtx::papers
