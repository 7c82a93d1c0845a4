// What a dry run prints.
#pragma once

#include "transfer/report.hpp"
#include "udtx-send/sender.hpp"

namespace udtx::apps {

/// A line on standard output for each entry of a dry run; what stays as it is only with -v. Of a real run, with -v,
/// what was deleted.
[[nodiscard]] transfer::PlanCallback plan_listing(const SendRun& run);

}  // namespace udtx::apps
