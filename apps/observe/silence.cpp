#include "observe/silence.hpp"

#include <algorithm>

namespace udtx::apps {
namespace {
/// Round trips for an answer and one retry. This raises the limit on a slow path.
constexpr int kRoundTrips = 4;
}  // namespace

void Silence::look(Duration at, const std::optional<ConnectionStats>& stats) {
    at_ = at;
    if (!stats) return;
    std::uint64_t received = 0;
    std::uint64_t in_flight = 0;
    Duration rtt{};
    for (const PathStats& path : stats->paths) {
        received += path.received_packets;
        in_flight += path.in_flight;
        rtt = std::max(rtt, path.smoothed_rtt);
    }
    usual_ = kRoundTrips * rtt;
    if (received != received_) {
        received_ = received;
        heard_at_ = at;
        since_.reset();
        lost_ = false;
    }
    if (in_flight > 0 && !since_) since_ = at;
}

void Silence::lost(Duration at) {
    at_ = at;
    if (!since_) since_ = receives_ ? heard_at_ : at;
    lost_ = true;
    received_ = 0;
}

}  // namespace udtx::apps
