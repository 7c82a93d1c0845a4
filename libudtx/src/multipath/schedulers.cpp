#include "multipath/schedulers.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "multipath/path_view.hpp"

namespace udtx::multipath {

std::uint64_t RoundRobin::turn_bytes(const PathView& path) {
    if (path.rate.is_infinite()) return path.datagram_bytes;
    const auto burst = static_cast<std::uint64_t>(path.rate.bytes_in(kTurn));
    return std::clamp<std::uint64_t>(burst, path.datagram_bytes, kMaxTurnDatagrams * path.datagram_bytes);
}

std::optional<PathPick> RoundRobin::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    return pick_among(demand, paths, [&eligible](const PathView& path) { return eligible.ready(path); });
}

void RoundRobin::on_sent(Instant /*now*/, const PathPick& pick, std::uint64_t bytes) {
    if (pick.duplicate) return;
    if (pick.path != turn_) {
        turn_ = pick.path;
        used_ = 0;
    }
    used_ += bytes;
}

void Dapb::judge(std::span<const PathView> paths) {
    const Eligible eligible(paths);
    Duration least = Duration::max();
    for (const PathView& path : paths) {
        if (eligible.usable(path) && path.smoothed_rtt > Duration::zero()) least = std::min(least, path.smoothed_rtt);
    }
    if (least == Duration::max()) return;
    const double threshold = to_seconds(std::max(kFactor * least, kInitial));
    for (const PathView& path : paths) {
        State& state = states_[path.id];
        const double rtt = to_seconds(path.smoothed_rtt);
        if (!state.blocked) {
            state.blocked = rtt > threshold;
        } else {
            const double release = std::max(kRelease * threshold, kOwnBase * to_seconds(path.min_rtt));
            state.blocked = rtt >= std::min(release, kHysteresis * threshold);
        }
    }
}

// A blocked path has one packet in flight: the next duplicate leaves when the last was acknowledged or given up.
std::optional<PathPick> Dapb::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    judge(paths);
    const Eligible eligible(paths);
    for (const PathView& path : paths) {
        const State* state = states_.find(path.id);
        if (state != nullptr && state->blocked && state->fresh && path.in_flight == 0 && eligible.ready(path)) {
            return PathPick{.path = path.id, .from = demand.next, .duplicate = true};
        }
    }
    return rotation_.pick_among(demand, paths,
                                [&](const PathView& path) { return eligible.ready(path) && !blocked(path.id); });
}

void Dapb::on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) {
    if (pick.duplicate) {
        states_[pick.path].fresh = false;
        return;
    }
    for (auto& [id, state] : states_) state.fresh = state.fresh || id != pick.path;
    rotation_.on_sent(now, pick, bytes);
}

bool Dapb::blocked(PathId path) const {
    const State* state = states_.find(path);
    return state != nullptr && state->blocked;
}

// A path without a sample counts as the fastest, because it has to be used to be measured.
std::optional<PathPick> MinRtt::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    const PathView* best = nullptr;
    for (const PathView& path : paths) {
        if (eligible.ready(path) && (best == nullptr || path.smoothed_rtt < best->smoothed_rtt)) best = &path;
    }
    if (best == nullptr) return std::nullopt;
    return PathPick{.path = best->id, .from = demand.next};
}

std::optional<PathPick> Weighted::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    const PathView* best = nullptr;
    const PathView* spare = nullptr;  // a path of weight 0
    double least = 0.0;
    for (const PathView& path : paths) {
        if (!eligible.ready(path)) continue;
        if (path.weight <= 0.0) {
            if (spare == nullptr) spare = &path;
            continue;
        }
        Share& share = shares_[path.id];
        share.weight = path.weight;
        const double tag = std::max(share.tag, virtual_time_ - kCatchUp);
        if (best != nullptr && tag >= least) continue;
        best = &path;
        least = tag;
    }
    if (best == nullptr) best = spare;
    if (best == nullptr) return std::nullopt;
    return PathPick{.path = best->id, .from = demand.next};
}

void Weighted::on_sent(Instant /*now*/, const PathPick& pick, std::uint64_t bytes) {
    Share& share = shares_[pick.path];
    share.tag = std::max(share.tag, virtual_time_ - kCatchUp);
    virtual_time_ = std::max(virtual_time_, share.tag);
    share.tag += static_cast<double>(bytes) / share.weight;
}

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

namespace {

constexpr const char* kOwn = "the scheduler of TransportConfig::scheduler_factory";

/// The first offset at or beyond `from` that is assigned to no path.
std::uint64_t first_free(const StreamDemand& demand, std::uint64_t from) {
    std::uint64_t offset = std::max(from, demand.next);
    const auto given = std::ranges::upper_bound(demand.ahead, offset, {}, &Range::end);
    if (given != demand.ahead.end() && given->begin <= offset) offset = given->end;
    return offset;
}

/// Throws if the pick would send nothing. The connection would then never ask the scheduler again.
void require_sendable(const PathPick& pick, const StreamDemand& demand, std::span<const PathView> paths) {
    if (std::ranges::find(paths, pick.path, &PathView::id) == paths.end()) {
        throw std::runtime_error(std::string(kOwn) + " picked path " + std::to_string(pick.path.value) +
                                 ", which does not exist");
    }
    if (pick.duplicate || demand.again) return;
    const std::uint64_t end = std::min(demand.limit, demand.written);
    if (first_free(demand, pick.from) >= end) {
        throw std::runtime_error(std::string(kOwn) + " picked offset " + std::to_string(pick.from) +
                                 ", behind which nothing may be sent (the end is " + std::to_string(end) + ")");
    }
}

}  // namespace

std::optional<PathPick> OwnScheduler::pick(Instant now, const StreamDemand& demand, std::span<const PathView> paths) {
    const auto pick = call_plug_in(kOwn, [&] { return inner_->pick(now, demand, paths); });
    if (pick) require_sendable(*pick, demand, paths);
    return pick;
}

void OwnScheduler::on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) {
    call_plug_in(kOwn, [&] { inner_->on_sent(now, pick, bytes); });
}

bool OwnScheduler::blocked(PathId path) const {
    return call_plug_in(kOwn, [&] { return inner_->blocked(path); });
}

}  // namespace udtx::multipath

namespace udtx {

namespace multipath {
namespace {

struct Entry {
    std::string_view name;
    std::unique_ptr<PathScheduler> (*make)();
};

template <class Scheduler>
std::unique_ptr<PathScheduler> make() {
    return std::make_unique<Scheduler>();
}

constexpr std::array kSchedulers{
    Entry{"eds", make<Eds>},   Entry{"minrtt", make<MinRtt>},     Entry{"rr", make<RoundRobin>},
    Entry{"dapb", make<Dapb>}, Entry{"weighted", make<Weighted>},
};

using Made = Result<std::unique_ptr<PathScheduler>>;

Made make_own(const SchedulerFactory& own) {
    try {
        if (auto made = own()) return Made(std::make_unique<OwnScheduler>(std::move(made)));
        return Error{ErrorCode::invalid_argument, "TransportConfig: scheduler_factory gave no scheduler"};
    } catch (const std::exception& failed) {
        return Error{ErrorCode::invalid_argument,
                     std::string("TransportConfig: scheduler_factory failed: ") + failed.what()};
    } catch (...) {
        return Error{ErrorCode::invalid_argument, "TransportConfig: scheduler_factory failed"};
    }
}

}  // namespace

Result<std::unique_ptr<PathScheduler>> make_scheduler(std::string_view name, const SchedulerFactory& own) {
    return own ? make_own(own) : make_path_scheduler(name);
}

}  // namespace multipath

Result<std::unique_ptr<PathScheduler>> make_path_scheduler(std::string_view name) {
    const auto found = std::ranges::find(multipath::kSchedulers, name, &multipath::Entry::name);
    if (found != multipath::kSchedulers.end()) return found->make();
    std::string message = "unknown scheduler '" + std::string(name) + "', known:";
    for (const auto& entry : multipath::kSchedulers) message.append(" ").append(entry.name);
    return Error{ErrorCode::invalid_argument, std::move(message)};
}

std::vector<std::string> path_scheduler_names() {
    std::vector<std::string> names;
    for (const auto& entry : multipath::kSchedulers) names.emplace_back(entry.name);
    return names;
}

}  // namespace udtx
