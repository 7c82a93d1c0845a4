// Runs a plan and checks the rules that hold whatever goes wrong:
//
//  1. No corruption: each byte arrives once, at its place, as it was written.
//  2. No false success: data that is called delivered or complete has arrived.
//  3. No stall while a line works. A line works if it has no blackout and more than six of ten packets pass in each
//     direction (works()). Assume that a line has worked without a change for longer than patience(), and an end has
//     something to send. Then a byte from that end arrives, or a stream ends, at least once in every patience().
//     Meanwhile no connection times out, and every connection attempt succeeds.
//  4. Bounded memory: the connections hold at most what their windows allow; packets on the lines do not count.
//  5. It ends in time: after the script, the remaining data is delivered at a rate of at least one datagram per round
//     trip or probe. Both ends then close and keep no connection.
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
    double longest_wait = 0.0;  ///< longest wait for a byte while a line worked, as a part of its patience
    double most_memory = 0.0;   ///< as a part of the allowed memory
    std::uint64_t most_memory_bytes = 0;
};

[[nodiscard]] Outcome run(const Plan& plan);

}  // namespace udtx::soak
