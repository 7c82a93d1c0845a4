#include "serve/refusal_log.hpp"

#include <utility>

#include "common/units.hpp"

namespace udtx::apps {
namespace {

constexpr Duration kBetween = std::chrono::seconds(1);

}  // namespace

void RefusalLog::tell(Instant now, const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!all_ && last_ && now - *last_ < kBetween) {
        ++untold_;
        return;
    }
    tell_rest();
    last_ = now;
    log_.warn(line);
}

void RefusalLog::look(Instant now) {
    const std::lock_guard lock(mutex_);
    if (untold_ == 0 || now - *last_ < kBetween) return;
    tell_rest();
    last_ = now;
}

void RefusalLog::finish() {
    const std::lock_guard lock(mutex_);
    tell_rest();
}

void RefusalLog::tell_rest() {
    if (untold_ == 0) return;
    const std::uint64_t count = std::exchange(untold_, 0);
    log_.warn("refused " + format_count(count) + (count == 1 ? " more client" : " more clients") +
              " within a second; -v lists all");
}

}  // namespace udtx::apps
