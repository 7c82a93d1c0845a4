#include "paths/experiment.hpp"

#include <ns3/simulator.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "../cell.hpp"
#include "ns3_host.hpp"
#include "paths/lines.hpp"
#include "sim/crypto_kit.hpp"
#include "sim/event_queue.hpp"
#include "sim/path_apps.hpp"
#include "sim/prng.hpp"

namespace udtx::papers::paths {
namespace {

constexpr std::size_t kLooksPerSample = 10;  // look() runs every SYN interval
constexpr std::size_t kSamplesPerSecond = 10;

class Experiment {
  public:
    explicit Experiment(const Cell& cell);
    Run run();

  private:
    [[nodiscard]] sim::HostSetup setup_of(const std::string& name, std::uint64_t part);
    [[nodiscard]] std::vector<proto::PathAddresses> candidates() const;
    void look();
    void sample(const ConnectionStats& stats);
    void note_window();
    void finish();
    [[nodiscard]] double packets(double bytes) const { return bytes / cell_.stream_bytes(); }
    [[nodiscard]] ConnectionStats stats() const;

    Cell cell_;
    sim::CryptoKit crypto_;
    Lines lines_;
    std::shared_ptr<sim::PathSender> sender_;
    std::shared_ptr<sim::MeteredReceiver> receiver_;
    ns3::Ptr<Ns3Host> client_;
    ns3::Ptr<Ns3Host> server_;
    std::size_t looks_ = 0;
    std::uint64_t seen_bytes_ = 0;
    std::vector<std::uint64_t> seen_path_bytes_;
    std::vector<double> windows_after_;
    Run run_;
};

ns3::Time to_ns3(Duration d) { return ns3::NanoSeconds(d.count()); }

const PathStats* find_path(const ConnectionStats& stats, std::size_t line) {
    const auto found = std::ranges::find(stats.paths, PathId{static_cast<std::uint8_t>(line)}, &PathStats::id);
    return found == stats.paths.end() ? nullptr : &*found;
}

Experiment::Experiment(const Cell& cell) : cell_(cell), lines_(cell), seen_path_bytes_(cell.lines.size()) {
    auto paths = candidates();
    std::vector<Address> locals;
    std::vector<Address> remotes;
    for (const auto& path : paths) {
        locals.push_back(path.local);
        remotes.push_back(path.remote);
    }
    const auto first = paths.front();
    paths.erase(paths.begin());
    sender_ = std::make_shared<sim::PathSender>(std::move(paths));
    receiver_ = std::make_shared<sim::MeteredReceiver>(virtual_now());

    const auto host = [](sim::HostSetup setup, std::vector<Address> addresses, std::function<void(Ns3Host&)> start) {
        setup.address = addresses.front();
        addresses.erase(addresses.begin());
        return ns3::CompleteConstruct(new Ns3Host(std::move(setup), std::move(addresses), std::move(start)));
    };
    server_ = host(setup_of("receiver", 1000), std::move(remotes), [receiver = receiver_](Ns3Host& self) {
        self.listen(1, [receiver](proto::Connection&) { return receiver; });
    });
    lines_.receiver()->AddApplication(server_);
    client_ = host(setup_of("sender", 2000), std::move(locals),
                   [sender = sender_, first](Ns3Host& self) { self.connect({first}, sender); });
    const auto syn = static_cast<std::uint64_t>(kSynInterval.count());
    client_->SetStartTime(ns3::NanoSeconds(sim::Prng::derive(cell.seed, 0).below(syn)));
    lines_.sender()->AddApplication(client_);
}

sim::HostSetup Experiment::setup_of(const std::string& name, std::uint64_t part) {
    sim::HostSetup setup;
    setup.name = name;
    setup.seed = sim::Prng::derive(cell_.seed, part).next();
    setup.provider = &crypto_.provider();
    setup.handshakes = &crypto_.handshakes();
    TransportConfig& config = setup.config;
    config.congestion = cell_.controller;
    config.scheduler = cell_.scheduler;
    config.reinject = cell_.reinject;
    if (!cell_.couple) config.coupling = Coupling::none;
    setup.experiment.silent_path_rule = cell_.silent_path_rule;
    config.min_datagram = cell_.payload;
    config.max_datagram = cell_.payload;
    config.stream_window = std::uint64_t{cell_.window} * cell_.stream_bytes();
    config.connection_window = config.stream_window;
    config.max_memory = 0;
    return setup;
}

std::vector<proto::PathAddresses> Experiment::candidates() const {
    std::vector<proto::PathAddresses> candidates;
    for (std::size_t i = 0; i < lines_.count(); ++i) {
        candidates.push_back({.local = address_of(lines_.sender_address(i), kFlowPort),
                              .remote = address_of(lines_.receiver_address(i), kFlowPort),
                              .options = {.standby = cell_.failover && i > 0}});
    }
    return candidates;
}

Run Experiment::run() {
    ns3::Simulator::Schedule(to_ns3(kSynInterval), &Experiment::look, this);
    for (const Errors& errors : cell_.errors) {
        if (errors.line == 0) ns3::Simulator::Schedule(ns3::Seconds(errors.to_s), &Experiment::note_window, this);
    }
    ns3::Simulator::Stop(ns3::Seconds(cell_.seconds) + ns3::MicroSeconds(1));
    ns3::Simulator::Run();
    finish();
    ns3::Simulator::Destroy();
    return std::move(run_);
}

ConnectionStats Experiment::stats() const {
    return client_->sessions().empty() ? ConnectionStats{} : client_->session().stats();
}

void Experiment::look() {
    const ConnectionStats now = stats();
    const double queue = packets(static_cast<double>(now.stream_bytes_outstanding));
    run_.max_send_queue = std::max(run_.max_send_queue, queue);
    run_.mean_send_queue += queue;
    if (++looks_ % kLooksPerSample == 0) sample(now);
    ns3::Simulator::Schedule(to_ns3(kSynInterval), &Experiment::look, this);
}

void Experiment::sample(const ConnectionStats& stats) {
    constexpr Duration kInterval = kSynInterval * kLooksPerSample;
    const ConnectionStats theirs = server_->sessions().empty() ? ConnectionStats{} : server_->session().stats();
    Sample s;
    s.end_s = ns3::Simulator::Now().GetSeconds();
    const std::uint64_t bytes = receiver_->received();
    s.goodput_mbps = Rate::from_bytes(bytes - std::exchange(seen_bytes_, bytes), kInterval).bps() / 1e6;
    s.send_queue = packets(static_cast<double>(stats.stream_bytes_outstanding));
    s.receive_queue = packets(static_cast<double>(receiver_->meter().held()));
    for (std::size_t i = 0; i < lines_.count(); ++i) {
        PathSample p;
        p.queue_ms = lines_.take_queue_ms(i);
        if (const PathStats* there = find_path(theirs, i)) {
            const std::uint64_t came = there->received_bytes;
            p.mbps = Rate::from_bytes(came - std::exchange(seen_path_bytes_[i], came), kInterval).bps() / 1e6;
        }
        if (const PathStats* path = find_path(stats, i)) {
            p.srtt_ms = to_seconds(path->smoothed_rtt) * 1e3;
            p.window_packets = static_cast<double>(path->window) / cell_.payload;
            p.transmit_times = path->transmit_times;
            p.reinjected_packets = path->reinjected_bytes / cell_.stream_bytes();
            p.active = path->state == PathState::active;
        }
        s.paths.push_back(p);
    }
    if (run_.samples.size() % kSamplesPerSecond == 0) run_.mbps_by_second.push_back(0.0);
    run_.mbps_by_second.back() += s.goodput_mbps / kSamplesPerSecond;
    run_.samples.push_back(std::move(s));
}

void Experiment::note_window() {
    if (const PathStats* path = find_path(stats(), 0)) {
        windows_after_.push_back(static_cast<double>(path->window) / cell_.payload);
    }
}

void Experiment::finish() {
    if (client_->sessions().empty() || client_->session().closed) {
        throw std::runtime_error("the connection did not live to the end");
    }
    const ConnectionStats end = stats();
    const sim::ReorderMeter& meter = receiver_->meter();
    run_.mean_send_queue /= static_cast<double>(std::max<std::size_t>(looks_, 1));
    run_.max_receive_queue = packets(static_cast<double>(meter.most_held()));
    run_.mean_receive_queue = packets(meter.mean_held());
    run_.longest_wait_ms = to_seconds(meter.longest_wait()) * 1e3;
    run_.mean_wait_ms = meter.mean_wait_s() * 1e3;
    double line_mbit = -lines_.cross_mbit();
    for (const Line& line : cell_.lines) line_mbit += line.mbps * cell_.seconds;
    run_.left_mbps = line_mbit / cell_.seconds * cell_.stream_bytes() / (cell_.payload + kLineOverhead);
    const auto sent = static_cast<double>(end.stream_bytes_sent + end.stream_bytes_resent);
    std::uint64_t reinjected = 0;
    for (const PathStats& path : end.paths) {
        reinjected += path.reinjected_bytes;
        run_.lost += path.lost_packets;
    }
    run_.resent_share = sent > 0.0 ? static_cast<double>(end.stream_bytes_resent) / sent : 0.0;
    run_.reinjected_share = sent > 0.0 ? static_cast<double>(reinjected) / sent : 0.0;
    run_.reinjected_packets = reinjected / cell_.stream_bytes();
    const ConnectionStats theirs = server_->session().stats();
    for (const PathStats& path : theirs.paths) {
        run_.line_mbps +=
            static_cast<double>(path.received_bytes + path.received_packets * kLineOverhead) * 8e-6 / cell_.seconds;
    }
    run_.dropped = lines_.dropped();
    if (const PathStats* first = find_path(end, 0)) {
        run_.probe_timeouts = first->probe_timeouts;
        run_.suspensions = first->suspensions;
    }
    for (const Instant at : sender_->revivals()) {
        const double s = to_seconds(at - sim::kStart);
        run_.revivals += std::ranges::any_of(
            cell_.errors, [s](const Errors& e) { return e.line == 0 && s > e.from_s && s <= e.to_s; });
    }
    for (const double window : windows_after_) {
        run_.window_after += window / static_cast<double>(windows_after_.size());
    }
    run_.intact = receiver_->intact();
}

}  // namespace

Run run_cell(const Cell& cell) { return Experiment(cell).run(); }

}  // namespace udtx::papers::paths
