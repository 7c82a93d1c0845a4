#include "experiment.hpp"

#include <ns3/simulator.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "ns3_host.hpp"
#include "sim/apps.hpp"
#include "sim/crypto_kit.hpp"
#include "sim/prng.hpp"
#include "topology.hpp"

namespace udtx::papers {
namespace {

constexpr std::uint64_t kEndless = 1ULL << 40U;  // bytes: more than any run moves
constexpr std::size_t kSamplesPerSecond = 100;

double seconds_of(Duration d) { return std::chrono::duration<double>(d).count(); }

class Experiment {
  public:
    explicit Experiment(const Cell& cell)
        : cell_(cell), topology_(cell, [this](std::uint16_t port) { on_drop(port); }), flows_(cell.flows) {
        for (std::uint32_t i = 0; i < cell.flows; ++i) add_flow(i);
    }

    Run run() {
        ns3::Simulator::Schedule(to_ns3(kSynInterval), &Experiment::sample, this);
        ns3::Simulator::Stop(ns3::Seconds(cell_.seconds) + ns3::MicroSeconds(1));
        ns3::Simulator::Run();
        finish();
        ns3::Simulator::Destroy();
        return std::move(run_);
    }

  private:
    struct Flow {
        ns3::Ptr<Ns3Host> sender;
        std::shared_ptr<sim::Receiver> receiver;
        Duration joins{};
        std::uint64_t seen_bytes = 0;
        std::uint64_t dropped = 0;
        std::uint64_t seen_dropped = 0;
    };

    static ns3::Time to_ns3(Duration d) { return ns3::NanoSeconds(d.count()); }

    void add_flow(std::uint32_t index);
    [[nodiscard]] sim::HostSetup setup_of(const std::string& name, const Address& address, std::uint64_t part);
    void on_drop(std::uint16_t port);
    void sample();
    void finish();
    [[nodiscard]] static PathStats path_of(const Flow& flow);

    Cell cell_;
    sim::CryptoKit crypto_;
    Run run_;
    Topology topology_;
    std::vector<Flow> flows_;
};

sim::HostSetup Experiment::setup_of(const std::string& name, const Address& address, std::uint64_t part) {
    sim::HostSetup setup;
    setup.name = name;
    setup.address = address;
    setup.seed = sim::Prng::derive(cell_.seed, part).next();
    setup.provider = &crypto_.provider();
    setup.handshakes = &crypto_.handshakes();
    setup.config.congestion = cell_.controller;
    setup.experiment.cd_alpha = cell_.alpha;
    setup.experiment.cd_beta = cell_.beta;
    setup.experiment.udt_as_printed = cell_.printed;
    // As in the papers, packets have 1,500 bytes from the start. The search for the packet size is not measured here.
    setup.config.min_datagram = kPayloadBytes;
    setup.config.max_datagram = kPayloadBytes;
    return setup;
}

void Experiment::add_flow(std::uint32_t index) {
    Flow& flow = flows_[index];
    const auto port = static_cast<std::uint16_t>(kFirstFlowPort + index);
    const Address from = address_of(topology_.sender_address(), port);
    const Address to = address_of(topology_.receiver_address(), port);
    const auto syn = static_cast<std::uint64_t>(kSynInterval.count());
    flow.joins = from_seconds(cell_.join_every_s * index) + Duration(sim::Prng::derive(cell_.seed, index).below(syn));
    flow.receiver = std::make_shared<sim::Receiver>();

    const auto listen = [receiver = flow.receiver](Ns3Host& host) {
        host.listen(1, [receiver](proto::Connection&) { return receiver; });
    };
    const auto server = ns3::CompleteConstruct(new Ns3Host(setup_of("receiver", to, 1000 + index), {}, listen));
    topology_.receiver()->AddApplication(server);

    const auto connect = [to](Ns3Host& host) {
        host.connect(to, std::make_shared<sim::Sender>(sim::Sender::Options{.bytes = kEndless}));
    };
    flow.sender = ns3::CompleteConstruct(new Ns3Host(setup_of("sender", from, 2000 + index), {}, connect));
    flow.sender->SetStartTime(to_ns3(flow.joins));
    topology_.sender()->AddApplication(flow.sender);
}

void Experiment::on_drop(std::uint16_t port) {
    if (port == kCrossPort) {
        ++run_.cross_dropped;
    } else if (port >= kFirstFlowPort && port < kFirstFlowPort + flows_.size()) {
        ++flows_[port - kFirstFlowPort].dropped;
    }
}

PathStats Experiment::path_of(const Flow& flow) {
    if (flow.sender->sessions().empty()) return {};
    const auto stats = flow.sender->session().stats();
    return stats.paths.empty() ? PathStats{} : stats.paths.front();
}

void Experiment::sample() {
    Sample s;
    s.end_s = ns3::Simulator::Now().GetSeconds();
    s.queue_ms = topology_.take_mean_queue_bytes() * 8.0 / (cell_.line_mbps * 1e3);
    for (Flow& flow : flows_) {
        const PathStats path = path_of(flow);
        const std::uint64_t bytes = flow.receiver->received();
        s.goodput_mbps.push_back(Rate::from_bytes(bytes - flow.seen_bytes, kSynInterval).bps() / 1e6);
        s.pair_mbps.push_back(path.line.newest_pair.bps() / 1e6);
        s.mtr_mbps.push_back(path.congestion.mtr.bps() / 1e6);
        s.rate_mbps.push_back(path.pacing_rate.is_infinite() ? 0.0 : path.pacing_rate.bps() / 1e6);
        s.dropped.push_back(static_cast<std::uint32_t>(flow.dropped - flow.seen_dropped));
        flow.seen_bytes = bytes;
        flow.seen_dropped = flow.dropped;
    }
    run_.samples.push_back(std::move(s));
    ns3::Simulator::Schedule(to_ns3(kSynInterval), &Experiment::sample, this);
}

void Experiment::finish() {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        const Flow& flow = flows_[i];
        if (flow.sender->sessions().empty() || flow.sender->session().closed) {
            throw std::runtime_error("flow " + std::to_string(i + 1) + " did not live to the end");
        }
        const PathStats path = path_of(flow);
        run_.totals.push_back({.sent_packets = path.sent_packets,
                               .dropped = flow.dropped,
                               .declared_lost = path.lost_packets,
                               .spurious = path.spurious_losses,
                               .intact = flow.receiver->intact()});
        FlowSeconds seconds{.joined_s = seconds_of(flow.joins), .mbps = {}};
        for (std::size_t k = 0; k < run_.samples.size(); ++k) {
            if (k % kSamplesPerSecond == 0) seconds.mbps.push_back(0.0);
            seconds.mbps.back() += run_.samples[k].goodput_mbps[i] / kSamplesPerSecond;
        }
        run_.flows.push_back(std::move(seconds));
    }
}

}  // namespace

Run run_cell(const Cell& cell) { return Experiment(cell).run(); }

}  // namespace udtx::papers
