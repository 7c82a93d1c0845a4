// What --dry-run lists on standard output, and -v of what --delete took away.
#pragma once

#include "common/log.hpp"
#include "report/final_report.hpp"
#include "transfer/report.hpp"

namespace udtx::apps {

struct PlanListing {
    bool list = false;  ///< a dry run whose user wants lines
    bool verbose = false;
};
/// Any thread may call it. `log` outlives it.
[[nodiscard]] transfer::PlanCallback plan_listing(Log& log, PlanListing listing);
/// A list that could not be written is an error.
void check_listing(Log& log, FinalReport& report);

}  // namespace udtx::apps
