// Runs a plan and holds it to what must be true whatever goes wrong:
//
//  - no corruption: each byte comes once, at its place, as it was written
//  - no wrong success: what is called delivered or complete is there
//  - no stall while a line works: a line works when nothing is dark on it and more than six of ten packets pass each
//  way
//    (works()). While one has done so without a change for longer than patience(), and an end has something to send, a
//    byte arrives from that end, or a stream ends, at least once in every patience(). No connection ends by silence
//    meanwhile, and one that is dialled comes up.
//  - bounded memory: what the connections hold beside packets on the lines stays below what their windows allow
//  - it ends in time: when the script is over, what is under way is delivered at no less than a datagram each round
//  trip
//    or probe, both ends close, and nothing is left at either.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "soak/plan.hpp"

namespace udtx::soak {

struct Outcome {
    std::vector<std::string> violations;
    std::string history;
    Duration lasted{};
    std::uint64_t moving_seconds = 0;
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
    std::uint64_t connections = 0;
    std::uint64_t key_updates = 0;
    double longest_wait = 0.0;  ///< for a byte while a line worked, as a part of the patience with it
    double most_memory = 0.0;   ///< as a part of what was allowed
    std::uint64_t most_memory_bytes = 0;
};

[[nodiscard]] Outcome run(const Plan& plan);

}  // namespace udtx::soak
