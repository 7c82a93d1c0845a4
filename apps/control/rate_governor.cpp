#include "control/rate_governor.hpp"

#include <algorithm>
#include <utility>

#include "common/runtime_dir.hpp"

namespace udtx::apps {
namespace {
constexpr Duration kCountEvery = std::chrono::seconds(1);
}  // namespace

Rate RateGovernor::update(Instant now, bool active) {
    count_others(now, active);
    const Rate host = settings_.host * (1.0 / static_cast<double>(transfers_));
    const std::lock_guard lock(mutex_);
    Rate cap = wish_.value_or(settings_.base);
    if (!wish_ && settings_.schedule) cap = std::min(cap, settings_.schedule->at(minute_of_day()));
    return std::min(cap, host);
}

Result<void> RateGovernor::set(std::optional<Rate> wish) {
    if (settings_.fixed && wish && wish->is_infinite()) {
        return Error{ErrorCode::invalid_argument, "--policy fixed needs a rate"};
    }
    const std::lock_guard lock(mutex_);
    wish_ = wish;
    return {};
}

std::optional<std::string> RateGovernor::take_trouble() {
    if (trouble_.empty() || std::exchange(told_, true)) return std::nullopt;
    return trouble_;
}

void RateGovernor::count_others(Instant now, bool active) {
    if (settings_.host.is_infinite()) return;
    if (!active) {
        share_.reset();
        counted_.reset();
        return;
    }
    if (!share_ && trouble_.empty()) {
        const auto directory = runtime_directory();
        auto joined = directory ? HostShare::join(*directory) : directory.error();
        if (joined) {
            share_ = std::move(*joined);
        } else {
            trouble_ = joined.error().message;
        }
    }
    if (!share_ || (counted_ && now - *counted_ < kCountEvery)) return;
    counted_ = now;
    transfers_ = share_->count();
}

}  // namespace udtx::apps
