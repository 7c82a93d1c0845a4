// An episode as it is drawn from its seed: lines, faults, ends, and what they have to send each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/link.hpp"
#include "sim/sim_host.hpp"
#include "soak/faults.hpp"
#include "udtx/config.hpp"
#include "udtx/ids.hpp"

namespace udtx::soak {

/// One stream, from one end to the other.
struct Task {
    Role from = Role::client;
    StreamKind kind = StreamKind::placed;
    std::uint64_t bytes = 0;
    Duration start{};
    std::uint64_t chunk = 1U << 20U;          ///< written at once ...
    Duration pause{};                         ///< ... and so long later the next one: a file that grows
    std::uint64_t reader_speed = 0;           ///< bytes/s; 0: reads at once
    std::optional<std::uint64_t> reset_at{};  ///< its sender gives it up after so many bytes
    std::optional<std::uint64_t> stop_at{};   ///< its receiver does
};

struct Plan {
    std::uint64_t seed = 0;
    bool hours_long = false;  ///< a connection of hours that is idle for most of them
    Duration length{};        ///< of the script; what is under way then is brought to its end
    std::vector<Line> lines;
    std::vector<Fault> faults;
    std::vector<Task> tasks;
    TransportConfig client;
    TransportConfig server;
    proto::Experiment client_experiment;  ///< its first_number, just before a number of bits is full, in some episodes
    proto::Experiment server_experiment;
    sim::HostNoise client_noise;
    sim::HostNoise server_noise;
    std::size_t lanes = 0;
    bool reset_key = false;
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed);
/// One line each.
[[nodiscard]] std::vector<std::string> describe(const Plan& plan);

}  // namespace udtx::soak
