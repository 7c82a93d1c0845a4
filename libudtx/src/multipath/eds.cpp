#include "multipath/eds.hpp"

#include <algorithm>
#include <limits>

#include "multipath/eligible.hpp"

namespace udtx::multipath {

namespace {

constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();

// The first offset at or beyond `from` that no path was given yet.
std::uint64_t first_unassigned(const Demand& demand, std::uint64_t from) {
    std::uint64_t offset = std::max(from, demand.next);
    const auto* it = std::partition_point(demand.ahead.data(), demand.ahead.data() + demand.ahead.size(),
                                          [offset](const Range& range) { return range.end <= offset; });
    if (it != demand.ahead.data() + demand.ahead.size() && it->begin <= offset) offset = it->end;
    return offset;
}

}  // namespace

// owd_i = sRTT_i - base_i/2: what queues there is, queues on the way out.
// r_i = x_i, or window/sRTT once the path is bloated: what congestion control believes is then not what arrives.
Eds::Forecast Eds::forecast(Instant now, const PathView& path) {
    const bool sampled = path.smoothed_rtt > Duration::zero();
    const double rtt = sampled ? to_seconds(path.smoothed_rtt) : kAssumedRtt;
    const double base = sampled ? std::min(to_seconds(path.min_rtt), rtt) : kAssumedRtt;
    const double by_window = std::max(static_cast<double>(path.window), static_cast<double>(path.datagram_bytes)) / rtt;

    Forecast f;
    const bool known = !path.rate.is_zero() && !path.rate.is_infinite();
    f.rate = known ? path.rate.bytes_per_second() : by_window;
    if (rtt > kBloatedRtts * base) f.rate = std::min(f.rate, by_window);
    f.delay = rtt - base / 2.0;
    const double paced = std::max(0.0, to_seconds(path.departure - now));
    const std::uint64_t needed = path.in_flight + path.datagram_bytes;
    const double closed = needed > path.window ? static_cast<double>(needed - path.window) / f.rate : 0.0;
    f.eta = std::max(paced, closed) + path.datagram_bytes / f.rate + f.delay;
    return f;
}

// d_i: beyond what the faster paths deliver until this datagram would arrive, G_i = sum_j max(0, eta_i - eta_j) r_j.
// Nothing, where the receiver could not hold it (as BLEST guards) or where there is nothing to send.
std::uint64_t Eds::ordered_offset(const Usable& one, const Demand& demand, Forecasts all) {
    double gap = 0.0;
    for (const Usable& other : all) {
        gap += std::max(0.0, one.forecast.eta - other.forecast.eta) * other.forecast.rate;
    }
    const std::uint64_t bytes = one.path->datagram_bytes;
    std::uint64_t hold = demand.limit;
    if (demand.receive_window > 0) hold = std::min(hold, demand.data_acked + demand.receive_window);
    const auto most = static_cast<double>(demand.limit);
    const std::uint64_t from = demand.next + static_cast<std::uint64_t>(std::min(gap, most));
    const std::uint64_t offset = first_unassigned(demand, from);
    if (!demand.again && offset >= std::min(demand.limit, demand.written)) return kNothing;
    return offset > demand.next && offset + bytes > hold ? kNothing : offset;
}

// T_-i = (R + sum_{j != i} r_j owd_j) / sum_{j != i} r_j: when the others alone would have delivered all that remains.
bool Eds::too_late(const Usable& one, const Demand& demand, Forecasts all) {
    if (!demand.end_known) return false;
    double rates = 0.0;
    double bytes = static_cast<double>(demand.remaining);
    for (const Usable& other : all) {
        if (other.path == one.path) continue;
        rates += other.forecast.rate;
        bytes += other.forecast.rate * other.forecast.delay;
    }
    return rates > 0.0 && one.forecast.eta > bytes / rates;
}

std::optional<Pick> Eds::pick(Instant now, const Demand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    std::array<Usable, kMaxPaths> room;
    std::size_t count = 0;
    for (const PathView& path : paths) {
        if (eligible.usable(path) && count < room.size()) room[count++] = {&path, forecast(now, path)};
    }
    const Forecasts all(room.data(), count);

    const Usable* best = nullptr;
    std::uint64_t from = demand.next;
    for (const Usable& one : all) {
        if (!one.path->may_send) continue;
        std::uint64_t offset = demand.kind == StreamKind::ordered ? ordered_offset(one, demand, all) : demand.next;
        if (too_late(one, demand, all)) offset = kNothing;
        states_[one.path->id].left_out = offset == kNothing;
        if (offset == kNothing || (best != nullptr && best->forecast.eta <= one.forecast.eta)) continue;
        best = &one;
        from = offset;
    }
    if (auto p = probe(now, demand, all)) return p;
    if (best == nullptr) return std::nullopt;
    return Pick{.path = best->path->id, .from = from};
}

// A path that carries nothing would stay as slow as it was when it was last measured.
std::optional<Pick> Eds::probe(Instant now, const Demand& demand, Forecasts all) {
    Duration fastest = Duration::max();
    for (const Usable& one : all) {
        if (one.path->smoothed_rtt > Duration::zero()) fastest = std::min(fastest, one.path->smoothed_rtt);
    }
    if (fastest == Duration::max()) return std::nullopt;
    const Duration spacing = std::max(kProbeSpacing, fastest);
    for (const Usable& one : all) {
        const State& state = states_[one.path->id];
        const bool idle = one.path->may_send && one.path->in_flight == 0;
        if (idle && state.left_out && now - state.last_sent >= spacing) {
            return Pick{.path = one.path->id, .from = demand.next, .duplicate = true};
        }
    }
    return std::nullopt;
}

void Eds::on_sent(Instant now, const Pick& pick, std::uint64_t /*bytes*/) { states_[pick.path].last_sent = now; }

bool Eds::blocked(PathId path) const {
    const State* state = states_.find(path);
    return state != nullptr && state->left_out;
}

}  // namespace udtx::multipath
