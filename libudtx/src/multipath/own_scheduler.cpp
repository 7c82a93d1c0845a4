#include "multipath/own_scheduler.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/plug_in.hpp"

namespace udtx::multipath {

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
