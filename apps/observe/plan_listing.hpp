// What --dry-run lists on standard output, and -v of what --delete took away.
#pragma once

#include <memory>

#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "options/tree_options.hpp"
#include "udtx/transfer/plan.hpp"

namespace udtx::apps {

struct PlanListing {
    enum class Form {
        none,
        lines,
        objects,  ///< each a line of --json-stream
        kept      ///< for the object of --json
    };
    Form form = Form::none;
    bool verbose = false;   ///< also what would stay as it is
    bool receives = false;  ///< the files come here
};
/// For a dry run whose user wants to see it.
[[nodiscard]] PlanListing listing_of(const TreeOptions& tree, const CommonOptions& common, bool receives);
/// Any thread may call it. `log` outlives it. What an earlier one has kept is forgotten.
[[nodiscard]] transfer::PlanCallback plan_listing(Log& log, PlanListing listing);
/// Puts what was kept into the report. A list that could not be written is an error.
void check_listing(Log& log, FinalReport& report);

}  // namespace udtx::apps
