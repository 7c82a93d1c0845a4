#include "topology.hpp"

#include <ns3/data-rate.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/on-off-helper.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/string.h>

#include <string>
#include <utility>

namespace udtx::papers {

Topology::Topology(const Cell& cell, std::function<void(std::uint16_t port)> on_drop) : on_drop_(std::move(on_drop)) {
    nodes_.Create(3);
    ns3::InternetStackHelper().Install(nodes_);
    connect(cell);
    if (cell.cross_mbps > 0.0) add_cross_traffic(cell);
    ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
}

void Topology::connect(const Cell& cell) {
    const std::uint32_t queue = cell.access_queue_packets > 0 ? cell.access_queue_packets : cell.queue_packets;
    const auto a_b = add_line({nodes_.Get(0), nodes_.Get(1)}, cell.access_mbps, cell.access_delay_ms, queue);
    const auto b_c = add_line({nodes_.Get(1), nodes_.Get(2)}, cell.line_mbps, cell.line_delay_ms, cell.queue_packets);
    ns3::Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    sender_address_ = addresses.Assign(a_b).GetAddress(0);
    addresses.SetBase("10.1.2.0", "255.255.255.0");
    receiver_address_ = addresses.Assign(b_c).GetAddress(1);
    access_.attach(a_b.Get(0), on_drop_);
    line_.attach(b_c.Get(0), on_drop_);
}

void Topology::add_cross_traffic(const Cell& cell) {
    const ns3::InetSocketAddress sink(receiver_address_, kCrossPort);
    ns3::PacketSinkHelper("ns3::UdpSocketFactory", sink).Install(receiver());
    ns3::OnOffHelper source("ns3::UdpSocketFactory", sink);
    const double payload_bps = cell.cross_mbps * 1e6 * kPayloadBytes / kLineBytes;
    source.SetConstantRate(ns3::DataRate(static_cast<std::uint64_t>(payload_bps)), kPayloadBytes);
    source.SetAttribute("OnTime", ns3::StringValue("ns3::ConstantRandomVariable[Constant=2]"));
    source.SetAttribute("OffTime", ns3::StringValue("ns3::ConstantRandomVariable[Constant=1]"));
    // The source starts with a pause.
    source.Install(nodes_.Get(1)).Start(ns3::Seconds(cell.cross_from_s - 1.0));
}

}  // namespace udtx::papers
