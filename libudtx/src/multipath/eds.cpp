#include "multipath/eds.hpp"

#include <algorithm>
#include <limits>

#include "multipath/eligible.hpp"

namespace udtx::multipath {

namespace {

constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();

constexpr std::size_t kExactSteps = 64;
constexpr std::uint64_t kHolesInGap = 32;
constexpr std::uint64_t kHoleDatagrams = 4;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t hole) { return (bytes + hole - 1) / hole * hole; }

// The offset `behind` free bytes beyond `below`. If it is not before the assigned range `next`, the end of that range.
std::uint64_t offset_before(const Range& next, std::uint64_t below, std::uint64_t behind, std::uint64_t hole) {
    const std::uint64_t offset = below + rounded(behind, hole);
    return offset < next.begin ? offset : next.end;
}

// The first offset that is assigned to no path and has at least `gap` such bytes before it. Holes that other paths will
// fill are multiples of `hole`, because small holes would make small packets. The assigned ranges are counted from both
// ends: the fastest path fills the first hole, and a slower one usually takes the last. Ranges that are more than
// kExactSteps away from both ends are skipped.
std::uint64_t offset_behind_gap(const StreamDemand& demand, std::uint64_t gap, std::uint64_t hole) {
    const auto& ahead = demand.ahead;
    const std::uint64_t free_bytes = demand.highest() - demand.next - demand.ahead_bytes;
    if (gap >= free_bytes) return demand.highest() + rounded(gap - free_bytes, hole);
    const auto below = [&](std::size_t i) { return i == 0 ? demand.next : ahead[i - 1].end; };
    const std::size_t steps = std::min(ahead.size(), kExactSteps);
    std::uint64_t open = 0;  // free bytes below below(i)
    for (std::size_t i = 0; i < steps; ++i) {
        const std::uint64_t here = ahead[i].begin - below(i);
        if (gap < open + here) return offset_before(ahead[i], below(i), gap - open, hole);
        open += here;
    }
    open = free_bytes;
    const std::size_t last = ahead.size() - steps;
    for (std::size_t i = ahead.size(); i-- > last;) {
        open -= ahead[i].begin - below(i);
        if (gap >= open) return offset_before(ahead[i], below(i), gap - open, hole);
    }
    return ahead[last].end;
}

}  // namespace

// d_i: the offset with G_i free bytes before it. G_i = sum_j max(0, eta_i - eta_j) r_j: the faster paths deliver so
// many bytes until this datagram would arrive. Returns kNothing if the receiver could not hold it (as BLEST guards), or
// if there is nothing to send.
std::uint64_t Eds::ordered_offset(const Usable& one, const StreamDemand& demand, Forecasts all) {
    double gap = 0.0;
    for (const Usable& other : all) {
        gap += std::max(0.0, one.forecast.eta - other.forecast.eta) * other.forecast.rate;
    }
    const std::uint64_t bytes = one.path->datagram_bytes;
    std::uint64_t hold = demand.limit;
    const auto most = static_cast<double>(demand.limit);
    const auto gap_bytes = static_cast<std::uint64_t>(std::min(gap, most));
    const std::uint64_t hole = std::max(kHoleDatagrams, gap_bytes / kHolesInGap / bytes) * bytes;
    const std::uint64_t offset = offset_behind_gap(demand, gap_bytes, hole);
    if (!demand.again && offset >= std::min(demand.limit, demand.written)) return kNothing;
    return offset > demand.next && offset + bytes > hold ? kNothing : offset;
}

// T_-i = (R + sum_{j != i} r_j owd_j) / sum_{j != i} r_j: when the others alone would have delivered all that remains.
// The earliest path is never too late. Otherwise two paths could each leave the last bytes, less than a datagram, to
// the other.
bool Eds::too_late(const Usable& one, const StreamDemand& demand, Forecasts all) {
    if (!demand.end_known) return false;
    double rates = 0.0;
    double bytes = static_cast<double>(demand.remaining);
    bool earliest = true;
    for (const Usable& other : all) {
        if (other.path == one.path) continue;
        earliest = earliest && one.forecast.eta <= other.forecast.eta;
        rates += other.forecast.rate;
        bytes += other.forecast.rate * other.forecast.delay;
    }
    return !earliest && rates > 0.0 && one.forecast.eta > bytes / rates;
}

std::optional<PathPick> Eds::pick(Instant now, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    std::array<Usable, kMaxPaths> room;
    std::size_t count = 0;
    for (const PathView& path : paths) {
        if (eligible.usable(path) && count < room.size()) room[count++] = {&path, forecast(now, path)};
    }
    const Forecasts all(room.data(), count);

    const bool steady = std::any_of(all.begin(), all.end(), [](const Usable& one) { return !one.path->unsteady; });
    const auto distrusted = [&](const Usable& one) {
        return one.path->unsteady && steady && demand.kind == StreamKind::ordered;
    };
    // The forecasts exclude paths that get nothing: no path should wait for what they would deliver.
    std::array<Usable, kMaxPaths> given;
    std::size_t given_count = 0;
    for (const Usable& one : all) {
        if (!distrusted(one)) given[given_count++] = one;
    }
    const Forecasts others(given.data(), given_count);
    const Usable* best = nullptr;
    std::uint64_t from = demand.next;
    for (const Usable& one : all) {
        if (!one.path->may_send) continue;
        std::uint64_t offset = demand.kind == StreamKind::ordered ? ordered_offset(one, demand, others) : demand.next;
        if (distrusted(one) || too_late(one, demand, others)) offset = kNothing;
        states_[one.path->id].left_out = offset == kNothing;
        if (offset == kNothing || (best != nullptr && best->forecast.eta <= one.forecast.eta)) continue;
        best = &one;
        from = offset;
    }
    if (auto p = probe(now, demand, all)) return p;
    if (best == nullptr) return std::nullopt;
    return PathPick{.path = best->path->id, .from = from};
}

// Without traffic, the measured delay of a path would stay as it was. Probes keep it up to date.
std::optional<PathPick> Eds::probe(Instant now, const StreamDemand& demand, Forecasts all) {
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
            return PathPick{.path = one.path->id, .from = demand.next, .duplicate = true};
        }
    }
    return std::nullopt;
}

void Eds::on_sent(Instant now, const PathPick& pick, std::uint64_t /*bytes*/) { states_[pick.path].last_sent = now; }

bool Eds::blocked(PathId path) const {
    const State* state = states_.find(path);
    return state != nullptr && state->left_out;
}

}  // namespace udtx::multipath
