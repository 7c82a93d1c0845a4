#include "ns3_host.hpp"

#include <ns3/inet-socket-address.h>
#include <ns3/ipv4.h>
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

Ns3Host::Ns3Host(sim::HostSetup setup, std::vector<Address> more, std::function<void(Ns3Host&)> on_start)
    : ProtocolHost(std::move(setup)),
      on_start_(std::move(on_start)),
      locals_(std::move(more)),
      received_(kMaxDatagram) {
    locals_.insert(locals_.begin(), address());
}

ns3::Ptr<ns3::Socket> Ns3Host::bind(const Address& local) {
    const ns3::InetSocketAddress at = to_ns3(local);
    const auto ip = GetNode()->GetObject<ns3::Ipv4>();
    const std::int32_t interface = ip->GetInterfaceForAddress(at.GetIpv4());
    if (interface < 0) throw std::runtime_error("the node does not have the address");
    auto socket = ns3::Socket::CreateSocket(GetNode(), ns3::UdpSocketFactory::GetTypeId());
    if (socket->Bind(at) != 0) throw std::runtime_error("ns-3 does not bind the socket");
    socket->BindToNetDevice(ip->GetNetDevice(static_cast<std::uint32_t>(interface)));
    socket->SetRecvCallback(ns3::MakeCallback(&Ns3Host::on_readable, this));
    return socket;
}

void Ns3Host::StartApplication() {
    for (const Address& local : locals_) sockets_.push_back({local, bind(local)});
    on_start_(*this);
}

void Ns3Host::StopApplication() {
    for (const Bound& bound : sockets_) bound.socket->Close();
}

void Ns3Host::on_readable(ns3::Ptr<ns3::Socket> socket) {
    const auto at = std::ranges::find(sockets_, socket, &Bound::socket);
    const Address local = at->local;
    ns3::Address from;
    while (const ns3::Ptr<ns3::Packet> packet = socket->RecvFrom(from)) {
        const std::uint32_t size = packet->CopyData(reinterpret_cast<std::uint8_t*>(received_.data()),
                                                    static_cast<std::uint32_t>(received_.size()));
        const auto peer = ns3::InetSocketAddress::ConvertFrom(from);
        receive(local, address_of(peer.GetIpv4(), peer.GetPort()), std::span(received_).first(size));
    }
}

void Ns3Host::send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn /*ecn*/) {
    auto out = std::ranges::find(sockets_, from, &Bound::local);
    if (from.family == Address::Family::none) out = sockets_.begin();
    if (out == sockets_.end()) throw std::runtime_error("a datagram from an address that the host does not have");
    const auto packet = ns3::Create<ns3::Packet>(reinterpret_cast<const std::uint8_t*>(datagram.data()),
                                                 static_cast<std::uint32_t>(datagram.size()));
    if (out->socket->SendTo(packet, 0, to_ns3(to)) < 0) throw std::runtime_error("ns-3 does not take a datagram");
}

void Ns3Host::set_alarm(Instant at, std::uint64_t tag) {
    ns3::Simulator::Schedule(delay_until(at), &Ns3Host::on_alarm, this, tag);
}

void Ns3Host::call_at(Instant at, std::function<void()> action) {
    ns3::Simulator::Schedule(delay_until(at), std::move(action));
}

}  // namespace udtx::papers
