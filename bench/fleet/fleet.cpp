#include "fleet.hpp"

#include <algorithm>
#include <cassert>

#include "sim/fairness.hpp"

namespace udtx::sim {

namespace {

constexpr Duration kFleetStep = std::chrono::milliseconds(10);
// Size of an access link's queue in seconds of its rate. It holds the bursts that the core delivers, so that the access
// link is not a second bottleneck.
constexpr double kAccessQueueSeconds = 0.05;

std::uint64_t bytes_in(std::uint64_t bits_per_second, double seconds) {
    return static_cast<std::uint64_t>(static_cast<double>(bits_per_second) / 8 * seconds);
}

}  // namespace

Fleet::Fleet(const FleetSetup& setup)
    : setup_(setup), network_(events_, setup.seed), seeds_(Prng::derive(setup.seed, 0)) {
    assert(setup.hosts > 0 && setup.hosts <= kMostHosts);
    config_.congestion = "udtx";
    config_.max_datagram = setup.mtu;
    if (setup.window > 0) {
        config_.stream_window = config_.send_buffer = setup.window;
        config_.connection_window = 4 * setup.window;
        config_.max_memory = 0;
    }
    shards_.resize(setup.hosts);
    for (std::size_t i = 0; i < setup.hosts; ++i) {
        Shard& shard = shards_[i];
        // The shards differ by at most one byte, and their sum is setup.bytes.
        shard.bytes = setup.bytes * (i + 1) / setup.hosts - setup.bytes * i / setup.hosts;
        shard.from = host(1 + i);
        shard.to = host(1 + kMostHosts + i);
    }
    connect_lines();
    draw_deaths();
    for (Shard& shard : shards_) {
        listen(shard);
        connect_one(shard);
    }
}

std::unique_ptr<SimHost> Fleet::host(std::size_t last) {
    return std::make_unique<SimHost>(events_, network_,
                                     HostSetup{.name = "host " + std::to_string(last),
                                               .address = make_address(static_cast<std::uint8_t>(last), 7000),
                                               .config = config_,
                                               .seed = seeds_.next(),
                                               .provider = &shared_kit().provider(),
                                               .handshakes = &shared_kit().handshakes()});
}

void Fleet::connect_lines() {
    const double rtt = to_seconds(setup_.rtt);
    LinkParams core;
    core.bits_per_second = setup_.core_bits_per_second;
    core.delay = setup_.rtt / 2;
    core.queue_bytes = bytes_in(setup_.core_bits_per_second, rtt * setup_.queue_bdp);
    core.mtu = setup_.mtu;
    LinkParams access = core;
    access.bits_per_second = setup_.access_bits_per_second;
    access.delay = Duration::zero();
    access.queue_bytes = bytes_in(setup_.access_bits_per_second, kAccessQueueSeconds);
    core_ = &network_.add_link("core", core);
    Link& back = network_.add_link("back", core);
    for (Shard& shard : shards_) {
        const NodeId from = shard.from->node();
        const NodeId to = shard.to->node();
        network_.connect(from, to, {&network_.add_link("up", access), core_, &network_.add_link("down", access)});
        network_.connect(to, from, {&back});
    }
}

void Fleet::draw_deaths() {
    const double whole = ideal();
    half_ = whole / 2;
    std::vector<std::size_t> order(shards_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = 0; i < std::min(setup_.deaths, order.size()); ++i) {
        std::swap(order[i], order[i + seeds_.next() % (order.size() - i)]);
        Shard& shard = shards_[order[i]];
        const double part = 0.2 + 0.6 * static_cast<double>(seeds_.next() % 1000) / 1000;
        shard.dies = from_seconds(part * whole);
        shard.receiver_dies = i % 2 == 1;
    }
}

void Fleet::listen(Shard& shard) {
    shard.to->listen(8, [&shard](proto::Connection&) {
        shard.receiver = std::make_shared<Receiver>();
        return shard.receiver;
    });
}

void Fleet::connect_one(Shard& shard) {
    shard.from->connect(shard.to->address(),
                        std::make_shared<Sender>(Sender::Options{.bytes = shard.bytes - shard.proven}));
}

void Fleet::die(Shard& shard) {
    // Only journalled bytes survive. If the receiver dies, its sender restarts, too.
    const std::uint64_t arrived = shard.arrived();
    const std::uint64_t proven = std::max(shard.proven, arrived / kJournalBytes * kJournalBytes);
    shard.sent_again += arrived - proven;
    shard.proven = proven;
    shard.receiver.reset();
    shard.dead = true;
    shard.from->kill();
    if (shard.receiver_dies) shard.to->kill();
    const double left = static_cast<double>(shard.bytes - proven) * 8;
    shard.bound_seconds =
        seconds() + to_seconds(setup_.back_after) + left / static_cast<double>(setup_.access_bits_per_second);
}

void Fleet::come_back(Shard& shard) {
    shard.dead = false;
    if (shard.receiver_dies) {
        shard.to->start_anew();
        listen(shard);
    }
    shard.from->start_anew();
    connect_one(shard);
}

void Fleet::look(FleetFigures& figures) {
    std::uint64_t arrived = 0;
    for (Shard& shard : shards_) {
        const double died = to_seconds(shard.dies);
        if (died > 0 && shard.done_seconds == 0) {
            if (!shard.dead && shard.bound_seconds == 0 && seconds() >= died) die(shard);
            if (shard.dead && seconds() >= died + to_seconds(setup_.back_after)) come_back(shard);
        }
        arrived += shard.arrived();
        const bool complete = shard.receiver && shard.receiver->complete(shard.bytes - shard.proven);
        if (shard.done_seconds == 0 && complete) shard.done_seconds = seconds();
    }
    if (nearly_ == 0 && arrived >= setup_.bytes / 100 * 99) nearly_ = seconds();
    if (halved_ || seconds() < half_) return;
    halved_ = true;
    std::vector<double> shares;
    for (const Shard& shard : shards_) {
        // A shard that has died had less time to receive, so that its share does not count.
        if (shard.bound_seconds == 0) shares.push_back(static_cast<double>(shard.arrived()));
    }
    figures.fairness = jain(shares);
}

double Fleet::ideal() const {
    const auto core = static_cast<double>(setup_.core_bits_per_second);
    const double access = static_cast<double>(setup_.access_bits_per_second) * static_cast<double>(setup_.hosts);
    return static_cast<double>(setup_.bytes) * 8 / std::min(core, access) + to_seconds(setup_.rtt);
}

void Fleet::sum_up(FleetFigures& figures) const {
    double sum = 0;
    figures.ideal_seconds = ideal();
    for (const Shard& shard : shards_) {
        if (shard.done_seconds == 0) ++figures.incomplete;
        figures.seconds = std::max(figures.seconds, shard.done_seconds);
        figures.ideal_seconds = std::max(figures.ideal_seconds, shard.bound_seconds);
        figures.sent_again += shard.sent_again;
        figures.most_sent_again = std::max(figures.most_sent_again, shard.sent_again);
        sum += shard.done_seconds;
    }
    figures.slowest_over_mean = figures.seconds * static_cast<double>(shards_.size()) / std::max(sum, 1e-9);
    figures.last_percent_seconds = figures.seconds - nearly_;
    const LinkCounters& counters = core_->counters();
    figures.core_lost = counters.dropped_queue;
    figures.core_use = static_cast<double>(counters.delivered_bytes) * 8 /
                       (static_cast<double>(setup_.core_bits_per_second) * std::max(seconds(), 1e-9));
}

FleetFigures Fleet::run(Duration at_most) {
    FleetFigures figures;
    const auto done = [](const Shard& shard) { return shard.done_seconds > 0; };
    while (events_.now() - kStart < at_most && !std::ranges::all_of(shards_, done)) {
        events_.run_until(events_.now() + kFleetStep);
        look(figures);
    }
    sum_up(figures);
    return figures;
}

}  // namespace udtx::sim
