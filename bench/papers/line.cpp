#include "line.hpp"

#include <ns3/data-rate.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/ipv4-header.h>
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

ns3::NetDeviceContainer add_line(const ns3::NodeContainer& ends, double mbps, double delay_ms, std::uint32_t packets) {
    ns3::PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(static_cast<std::uint64_t>(mbps * 1e6))));
    helper.SetChannelAttribute("Delay", ns3::TimeValue(ns3::MicroSeconds(static_cast<std::uint64_t>(delay_ms * 1e3))));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue(std::to_string(packets) + "p"));
    // With flow control, Ipv4AddressHelper would put an FqCoDel in front of the queue.
    helper.DisableFlowControl();
    return helper.Install(ends);
}

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

}  // namespace udtx::papers
