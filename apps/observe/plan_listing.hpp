// The list that --dry-run prints on standard output, and the list of deletions that -v with --delete prints. The
// letters are rsync's.
#pragma once

#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "options/tree_options.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

/// The listing of a run, as the user's flags ask for it. `receives`: this side receives the files. The returned
/// callback may run on any thread. `log` must outlive it. Forgets what an earlier listing has kept.
[[nodiscard]] transfer::PlanCallback plan_listing(Log& log, const TreeOptions& tree, const CommonOptions& common,
                                                  bool receives);
/// Puts the list that is kept for the object of --json into the report. A list that could not be written is an error.
void check_listing(Log& log, FinalReport& report);

}  // namespace udtx::apps
