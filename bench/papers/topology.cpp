#include "topology.hpp"

#include <ns3/boolean.h>
#include <ns3/data-rate.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/ipv4-header.h>
#include <ns3/on-off-helper.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/ppp-header.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/udp-header.h>

#include <string>
#include <utility>

namespace udtx::papers {
namespace {

ns3::NetDeviceContainer line(const ns3::NodeContainer& ends, double mbps, double delay_ms, std::uint32_t packets) {
    ns3::PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(static_cast<std::uint64_t>(mbps * 1e6))));
    helper.SetChannelAttribute("Delay", ns3::TimeValue(ns3::MicroSeconds(static_cast<std::uint64_t>(delay_ms * 1e3))));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue(std::to_string(packets) + "p"));
    // Otherwise Ipv4AddressHelper puts an FqCoDel in front of the queue.
    helper.DisableFlowControl();
    return helper.Install(ends);
}

std::uint16_t destination_port(const ns3::Packet& on_the_line) {
    const ns3::Ptr<ns3::Packet> packet = on_the_line.Copy();
    ns3::PppHeader ppp;
    ns3::Ipv4Header ip;
    ns3::UdpHeader udp;
    packet->RemoveHeader(ppp);
    packet->RemoveHeader(ip);
    packet->RemoveHeader(udp);
    return udp.GetDestinationPort();
}

}  // namespace

void QueueWatch::attach(ns3::Ptr<ns3::NetDevice> device, std::function<void(std::uint16_t port)> on_drop) {
    tell_ = std::move(on_drop);
    const auto queue = ns3::DynamicCast<ns3::PointToPointNetDevice>(device)->GetQueue();
    queue->TraceConnectWithoutContext("BytesInQueue", ns3::MakeCallback(&QueueWatch::on_bytes, this));
    queue->TraceConnectWithoutContext("Drop", ns3::MakeCallback(&QueueWatch::on_drop, this));
}

void QueueWatch::account() {
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    byte_ns_ += static_cast<double>(bytes_) * static_cast<double>(now - last_ns_);
    last_ns_ = now;
}

void QueueWatch::on_bytes(std::uint32_t /*before*/, std::uint32_t after) {
    account();
    bytes_ = after;
}

void QueueWatch::on_drop(ns3::Ptr<const ns3::Packet> packet) { tell_(destination_port(*packet)); }

double QueueWatch::take_mean_bytes() {
    account();
    const auto time = static_cast<double>(last_ns_ - since_ns_);
    const double mean = time > 0.0 ? byte_ns_ / time : 0.0;
    byte_ns_ = 0.0;
    since_ns_ = last_ns_;
    return mean;
}

Topology::Topology(const Cell& cell, std::function<void(std::uint16_t port)> on_drop) : on_drop_(std::move(on_drop)) {
    nodes_.Create(3);
    ns3::InternetStackHelper().Install(nodes_);
    connect(cell);
    if (cell.cross_mbps > 0.0) add_cross_traffic(cell);
    ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
}

void Topology::connect(const Cell& cell) {
    const std::uint32_t queue = cell.access_queue_packets > 0 ? cell.access_queue_packets : cell.queue_packets;
    const auto a_b = line({nodes_.Get(0), nodes_.Get(1)}, cell.access_mbps, cell.access_delay_ms, queue);
    const auto b_c = line({nodes_.Get(1), nodes_.Get(2)}, cell.line_mbps, cell.line_delay_ms, cell.queue_packets);
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
    // It begins with a pause.
    source.Install(nodes_.Get(1)).Start(ns3::Seconds(cell.cross_from_s - 1.0));
}

}  // namespace udtx::papers
