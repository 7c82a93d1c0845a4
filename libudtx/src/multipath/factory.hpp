// Schedulers as a connection needs them: built-in or the application's own.
#pragma once

#include <memory>
#include <string_view>

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

/// By `own`, or if that is empty the one called `name`. invalid_argument: there is no such name, or `own` gives none.
[[nodiscard]] Result<std::unique_ptr<PathScheduler>> make_scheduler(std::string_view name, const SchedulerFactory& own);

}  // namespace udtx::multipath
