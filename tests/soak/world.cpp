#include "soak/world.hpp"

#include <algorithm>
#include <string>

namespace udtx::soak {
namespace {

sim::ScenarioSetup setup_of(const Plan& plan) {
    sim::ScenarioSetup setup;
    setup.name = "soak";
    setup.seed = plan.seed;
    setup.up = plan.lines.at(0).up;
    setup.down = plan.lines.at(0).down;
    setup.client = plan.client;
    setup.server = plan.server;
    setup.packet_threads = plan.packet_threads;
    setup.client_experiment = plan.client_experiment;
    setup.server_experiment = plan.server_experiment;
    setup.client_noise = plan.client_noise;
    setup.server_noise = plan.server_noise;
    if (plan.reset_key) setup.server_reset_key = crypto::Secret{std::byte{7}};
    return setup;
}

Duration drain_time(sim::Link& link, Instant now) {
    const auto rate = static_cast<double>(std::max<std::uint64_t>(link.params().bits_per_second, 1));
    return Dice::seconds(static_cast<double>(link.queued_bytes(now)) * 8.0 / rate);
}

}  // namespace

World::World(const Plan& plan) : plan_(plan), scenario_(setup_of(plan)), nat_(scenario_.client().address()) {
    lines_.push_back({plan.lines[0], &scenario_.up(), &scenario_.down(), {}, sim::kStart, {}});
    for (std::size_t i = 1; i < plan.lines.size(); ++i) add_line(i);
}

void World::add_line(std::size_t i) {
    sim::Network& network = scenario_.network();
    const std::string number = std::to_string(i);
    sim::Link& up = network.add_link("up " + number, plan_.lines[i].up);
    sim::Link& down = network.add_link("down " + number, plan_.lines[i].down);
    const Address client = sim::make_address(static_cast<std::uint8_t>(100 + i), 40000);
    network.add_address(scenario_.client().node(), client);
    network.connect(client, scenario_.server().address(), {&up});
    network.connect(scenario_.server().address(), client, {&down});
    lines_.push_back({plan_.lines[i], &up, &down, {}, sim::kStart, {}});
}

std::vector<proto::PathAddresses> World::candidates() {
    std::vector<proto::PathAddresses> out;
    const Address& server = scenario_.server().address();
    out.push_back({.local = scenario_.client().address(), .remote = server, .options = {}});
    for (std::size_t i = 1; i < lines_.size(); ++i) {
        const Address local = sim::make_address(static_cast<std::uint8_t>(100 + i), 40000);
        out.push_back({.local = local, .remote = server, .options = {}});
    }
    return out;
}

void World::begin(const Fault& fault) {
    if (fault.of_line()) {
        lines_[fault.line].faults.push_back(&fault);
        refresh(fault.line);
    } else {
        rebind(fault);
    }
}

void World::end(const Fault& fault) {
    if (!fault.of_line()) return;
    std::erase(lines_[fault.line].faults, &fault);
    refresh(fault.line);
}

void World::rebind(const Fault& fault) {
    if (fault.kind != FaultKind::rebind_port && fault.kind != FaultKind::rebind_address) return;
    ++nat_.port;
    if (fault.kind == FaultKind::rebind_address) nat_.ip[2] = static_cast<std::uint8_t>(nat_.ip[2] + 1);
    scenario_.network().rebind(scenario_.client().node(), nat_);
}

void World::refresh(std::size_t line) {
    State& state = lines_[line];
    state.now = plan_.lines[line];
    for (const Fault* fault : state.faults) apply(*fault, state.now);
    state.up->change([&](sim::LinkParams& p) { p = state.now.up; });
    state.down->change([&](sim::LinkParams& p) { p = state.now.down; });
    state.queued = drain_time(*state.up, now()) + drain_time(*state.down, now());
    state.works_since = works(state.now) ? std::optional(now()) : std::nullopt;
}

void World::disturb_all(Instant until) {
    for (State& state : lines_) {
        if (state.works_since) state.works_since = std::max(*state.works_since, until);
    }
}

std::optional<Instant> World::works_since(std::size_t line) const noexcept { return lines_[line].works_since; }

Duration World::patience(std::size_t line) {
    const State& state = lines_[line];
    return soak::patience(state.now) + state.queued + plan_.client.keep_alive + plan_.server.keep_alive;
}

Duration World::round_trip(std::size_t line) const noexcept {
    return lines_[line].now.up.delay + lines_[line].now.down.delay;
}

}  // namespace udtx::soak
