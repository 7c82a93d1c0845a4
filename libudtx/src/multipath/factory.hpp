// Makes the scheduler of a connection: a built-in one or the application's own.
#pragma once

#include <memory>
#include <string_view>

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

/// Uses `own`, or if that is empty, makes the one called `name`. invalid_argument: unknown name, or `own` made none.
[[nodiscard]] Result<std::unique_ptr<PathScheduler>> make_scheduler(std::string_view name, const SchedulerFactory& own);

}  // namespace udtx::multipath
