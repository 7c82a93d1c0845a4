#include "paths/lines.hpp"

#include <ns3/data-rate.h>
#include <ns3/double.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/node-container.h>
#include <ns3/on-off-helper.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/pointer.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/string.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "../cell.hpp"

namespace udtx::papers::paths {
namespace {

constexpr std::uint16_t kFirstCrossPort = 7000;  // below kFlowPort
constexpr const char* kMask = "255.255.255.0";
// Seconds between two changes of a ramp. One step changes the delay by less than a packet's transmission time, so that
// packets keep their order.
constexpr double kRampStep = 0.001;
constexpr double kCrossCycle = 0.5;  // s: mean sum of a burst and a pause
constexpr double kCrossAccessMbps = 1000.0;

std::string network(std::size_t chain, std::size_t part) {
    return "10." + std::to_string(chain + 1) + "." + std::to_string(part) + ".0";
}

std::string exponential(double mean_s) { return "ns3::ExponentialRandomVariable[Mean=" + std::to_string(mean_s) + "]"; }

/// Adds a route to `network` through `device` and `router`. Global routing would choose one route for all links.
void route(ns3::Ptr<ns3::NetDevice> device, const std::string& network, ns3::Ipv4Address router) {
    const auto ip = device->GetNode()->GetObject<ns3::Ipv4>();
    const auto interface = static_cast<std::uint32_t>(ip->GetInterfaceForDevice(device));
    ns3::Ipv4StaticRoutingHelper().GetStaticRouting(ip)->AddNetworkRouteTo(ns3::Ipv4Address(network.c_str()),
                                                                           ns3::Ipv4Mask(kMask), router, interface);
}

}  // namespace

Lines::Lines(const Cell& cell)
    : sender_(ns3::CreateObject<ns3::Node>()),
      receiver_(ns3::CreateObject<ns3::Node>()),
      chains_(cell.lines.size()),
      cross_scale_(static_cast<double>(cell.payload + kLineOverhead) / cell.payload * 8e-6) {
    ns3::RngSeedManager::SetSeed(1);
    ns3::RngSeedManager::SetRun(cell.seed);
    ns3::InternetStackHelper().Install(ns3::NodeContainer(sender_, receiver_));
    for (std::size_t i = 0; i < cell.lines.size(); ++i) add_chain(cell.lines[i], i);
    for (std::size_t i = 0; i < cell.cross.size(); ++i) add_cross(cell.cross[i], i, cell.payload);
    for (const Ramp& ramp : cell.ramps) {
        ns3::Simulator::Schedule(ns3::Seconds(ramp.from_s), &Lines::begin, this, ramp);
    }
    for (const Errors& errors : cell.errors) add_errors(errors);
}

void Lines::add_chain(const Line& line, std::size_t index) {
    Chain& chain = chains_[index];
    chain.mbps = line.mbps;
    chain.delay_ms = line.delay_ms;
    chain.router = ns3::CreateObject<ns3::Node>();
    ns3::InternetStackHelper().Install(chain.router);
    const auto access = add_line({sender_, chain.router}, line.mbps, 0.0, line.access_queue);
    const auto shared = add_line({chain.router, receiver_}, line.mbps, line.delay_ms, line.queue);
    ns3::Ipv4AddressHelper addresses(network(index, 1).c_str(), kMask);
    const auto near = addresses.Assign(access);
    addresses.SetBase(network(index, 2).c_str(), kMask);
    const auto far = addresses.Assign(shared);
    chain.sender = near.GetAddress(0);
    chain.receiver = far.GetAddress(1);
    route(access.Get(0), network(index, 2), near.GetAddress(1));
    route(shared.Get(1), network(index, 1), far.GetAddress(0));
    chain.channel = ns3::DynamicCast<ns3::PointToPointChannel>(shared.Get(0)->GetChannel());

    chain.errors = ns3::CreateObject<ns3::RateErrorModel>();
    chain.errors->SetUnit(ns3::RateErrorModel::ERROR_UNIT_PACKET);
    chain.errors->SetRate(0.0);
    for (std::uint32_t end = 0; end < 2; ++end) {
        shared.Get(end)->SetAttribute("ReceiveErrorModel", ns3::PointerValue(chain.errors));
    }
    const auto drop = [this](std::uint16_t port) { dropped_ += port >= kFlowPort ? 1U : 0U; };
    chain.access_queue.attach(access.Get(0), drop);
    chain.router_queue.attach(shared.Get(0), drop);
}

void Lines::add_cross(const CrossTraffic& cross, std::size_t index, std::uint32_t payload) {
    const Chain& chain = chains_[cross.line];
    const auto host = ns3::CreateObject<ns3::Node>();
    ns3::InternetStackHelper().Install(host);
    const auto access = add_line({host, chain.router}, kCrossAccessMbps, 0.0, 1000);
    const auto own = ns3::Ipv4AddressHelper(network(cross.line, 3 + index).c_str(), kMask).Assign(access);
    route(access.Get(0), network(cross.line, 2), own.GetAddress(1));

    const auto port = static_cast<std::uint16_t>(kFirstCrossPort + index);
    const ns3::InetSocketAddress to(chain.receiver, port);
    const auto sink = ns3::PacketSinkHelper("ns3::UdpSocketFactory", to).Install(receiver_).Get(0);
    sinks_.push_back(ns3::DynamicCast<ns3::PacketSink>(sink));

    ns3::OnOffHelper source("ns3::UdpSocketFactory", to);
    const double payload_share = static_cast<double>(payload) / (payload + kLineOverhead);
    source.SetConstantRate(ns3::DataRate(static_cast<std::uint64_t>(cross.peak_mbps * 1e6 * payload_share)), payload);
    const double on = kCrossCycle * cross.mean_mbps / cross.peak_mbps;
    source.SetAttribute("OnTime", ns3::StringValue(exponential(on)));
    source.SetAttribute("OffTime", ns3::StringValue(exponential(kCrossCycle - on)));
    auto app = source.Install(host);
    app.Start(ns3::Seconds(cross.from_s));
    app.Stop(ns3::Seconds(cross.to_s));
}

void Lines::add_errors(const Errors& errors) {
    const auto& model = chains_[errors.line].errors;
    ns3::Simulator::Schedule(ns3::Seconds(errors.from_s), &ns3::RateErrorModel::SetRate, model, errors.rate);
    ns3::Simulator::Schedule(ns3::Seconds(errors.to_s), &ns3::RateErrorModel::SetRate, model, 0.0);
}

void Lines::begin(const Ramp& ramp) { step(ramp, chains_[ramp.line].delay_ms); }

void Lines::step(const Ramp& ramp, double first_ms) {
    const double now = ns3::Simulator::Now().GetSeconds();
    const double part = std::min(1.0, (now - ramp.from_s) / (ramp.to_s - ramp.from_s));
    Chain& chain = chains_[ramp.line];
    chain.delay_ms = first_ms + part * (ramp.delay_ms - first_ms);
    chain.channel->SetAttribute("Delay", ns3::TimeValue(ns3::NanoSeconds(std::llround(chain.delay_ms * 1e6))));
    if (part < 1.0) ns3::Simulator::Schedule(ns3::Seconds(kRampStep), &Lines::step, this, ramp, first_ms);
}

double Lines::take_queue_ms(std::size_t line) {
    Chain& chain = chains_.at(line);
    return chain.router_queue.take_mean_bytes() * 8.0 / (chain.mbps * 1e3);
}

double Lines::cross_mbit() const {
    double bytes = 0.0;
    for (const auto& sink : sinks_) bytes += static_cast<double>(sink->GetTotalRx());
    return bytes * cross_scale_;
}

}  // namespace udtx::papers::paths
