// Lines whose rate, delay and loss change by themselves. All changes are drawn from a seed after published statistics.
// They hold no recorded data.
//
//     const WirelessLine line = starlink(seed, 72s);
//     FlowRig rig(line.setup(seed));  // with flows
//     line.attach(rig);
#pragma once

#include <vector>

#include "sim/flows.hpp"
#include "sim/link.hpp"

namespace udtx::sim {

struct WirelessLine {
    /// Holds until the next one.
    struct Section {
        Duration from{};
        Duration longer{};  ///< delay added to the one of the line
        BurstLoss burst{};
    };

    Duration rtt{};  ///< the shortest
    std::uint64_t queue_bytes = 0;
    std::vector<RateStep> rates{};
    std::vector<Section> sections{};    ///< the first from zero on
    std::vector<Blackout> blackouts{};  ///< the rate is 0 there too
    Duration jitter{};
    Duration jitter_hold{};
    std::function<Duration(Prng&)> jitter_law{};

    [[nodiscard]] FlowRigSetup setup(std::uint64_t seed) const;
    /// Makes the rig's bottleneck this line. `rig` must live as long as it runs.
    void attach(FlowRig& rig) const;
    /// Bytes that the line can carry in [from, to). Bytes that are lost before the queue do not count.
    [[nodiscard]] double carries(Duration from, Duration to) const;
};

/// The uplink of a terminal of a low-earth-orbit constellation: 10 to 70 Mbit/s, a handover each 15 s.
[[nodiscard]] WirelessLine starlink(std::uint64_t seed, Duration length);

/// A 5G downlink on millimetre waves: 3 to 400 Mbit/s, a deep buffer, retransmissions below IP.
[[nodiscard]] WirelessLine millimetre_wave(std::uint64_t seed, Duration length);

/// Extra delay of a Wi-Fi hop with collisions, with this mean: draft-huitema-ccwg-c4-test, "Handling of High Jitter
/// Environments". It is a Poisson number of deferrals of 1 ms with mean 1, and for a part of the draws a Poisson number
/// of retransmissions of 7.5 ms with mean 12.
[[nodiscard]] std::function<Duration(Prng&)> wifi_jitter(Duration mean);

}  // namespace udtx::sim
