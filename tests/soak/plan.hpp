// An episode as drawn from its seed: lines, faults, ends, and the data that they send to each other.
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
    StreamKind kind = StreamKind::unordered;
    std::uint64_t bytes = 0;
    Duration start{};
    std::uint64_t chunk = 1U << 20U;          ///< bytes of one write ...
    Duration pause{};                         ///< ... and the pause before the next one: models a file that grows
    std::uint64_t reader_speed = 0;           ///< bytes/s; 0: reads at once
    std::optional<std::uint64_t> reset_at{};  ///< the sender resets the stream after this number of bytes
    std::optional<std::uint64_t> stop_at{};   ///< the receiver stops the stream after this number of bytes
};

struct Plan {
    std::uint64_t seed = 0;
    bool hours_long = false;  ///< the connection lasts for hours and is idle most of the time
    Duration length{};        ///< of the script; data in flight at its end is still delivered
    std::vector<Line> lines;
    std::vector<Fault> faults;
    std::vector<Task> tasks;
    TransportConfig client;
    TransportConfig server;
    proto::Experiment client_experiment;  ///< some episodes set first_number just below 2^24, 2^32 or 2^48
    proto::Experiment server_experiment;
    sim::HostNoise client_noise;
    sim::HostNoise server_noise;
    std::size_t packet_threads = 0;
    bool reset_key = false;
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed);
/// The plan as text, one line per item.
[[nodiscard]] std::vector<std::string> describe(const Plan& plan);

}  // namespace udtx::soak
