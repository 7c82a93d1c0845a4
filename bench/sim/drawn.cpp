#include "drawn.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sim/flows.hpp"

namespace udtx::bench {

namespace {

using namespace std::chrono_literals;

constexpr Duration kFrom = 5s;  // without the start
constexpr Duration kTo = 15s;

}  // namespace

std::string DrawnLine::name() const {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "%.1f, %.1f, %.2f, %.2f, %.1f", mbps, rtt_ms, loss_percent, queue_bdp,
                  jitter_ms);
    return text.data();
}

std::vector<DrawnLine> read_lines(const std::string& path) {
    std::ifstream in(path);
    std::vector<DrawnLine> lines;
    for (std::string text; std::getline(in, text);) {
        std::istringstream fields(text);
        DrawnLine line;
        std::string rest;
        if (!(fields >> line.mbps >> line.rtt_ms >> line.loss_percent >> line.queue_bdp >> line.jitter_ms) ||
            fields >> rest)
            throw std::runtime_error("--drawn: '" + text + "' is not Mbit/s, RTT ms, loss %, queue BDP, jitter ms");
        lines.push_back(line);
    }
    if (lines.empty()) throw std::runtime_error("--drawn: " + path + " has no links");
    return lines;
}

Figure run_line(const DrawnLine& line, const Maker& maker, std::uint64_t seed) {
    sim::FlowRigSetup setup;
    setup.name = line.name();
    setup.seed = seed;
    setup.bits_per_second = static_cast<std::uint64_t>(line.mbps * 1e6);
    setup.rtt = from_seconds(line.rtt_ms * 1e-3);
    setup.loss = line.loss_percent * 1e-2;
    setup.queue_bdp = line.queue_bdp;
    setup.jitter = from_seconds(line.jitter_ms * 1e-3);
    setup.shared_key = true;
    setup.flows = {under_test(maker)};
    sim::FlowRig rig(setup);
    rig.run_for(kTo);
    const double could = kPayload * line.mbps * 1e6 * (1.0 - setup.loss);
    return {.value = rig.goodput(kFrom, kTo).bps() / could,
            .queue_ms = to_seconds(rig.queue_delay(kFrom, kTo).mean) * 1e3,
            .dropped = rig.drops(kFrom, kTo)};
}

}  // namespace udtx::bench
