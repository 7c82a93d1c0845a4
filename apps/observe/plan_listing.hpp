// Formats one entry of a dry run as a line or an object: what a real run would do with it, and why. The letters are
// rsync's.
#pragma once

#include <memory>
#include <string>

#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "options/tree_options.hpp"
#include "udtx/transfer/plan.hpp"

namespace udtx::apps {

/// rsync's eleven letters, YXcstpoguax. `receives`: this side receives the files.
[[nodiscard]] std::string itemized_letters(const transfer::PlannedEntry& entry, bool receives);
/// The letters, the name, and a link's target.
[[nodiscard]] std::string itemized_line(const transfer::PlannedEntry& entry, bool receives);
/// The same as a JSON object; with `event` it has the key "event".
[[nodiscard]] std::string itemized_json(const transfer::PlannedEntry& entry, bool receives, bool event);

// The list that --dry-run prints on standard output, and the list of deletions that -v with --delete prints.

struct PlanListing {
    enum class Form {
        none,
        lines,
        objects,  ///< one line of --json-stream each
        kept      ///< for the object of --json
    };
    Form form = Form::none;
    bool verbose = false;   ///< also lists entries that would stay unchanged
    bool receives = false;  ///< this side receives the files
};
/// The listing for a dry run, as the user's flags ask for it.
[[nodiscard]] PlanListing listing_of(const TreeOptions& tree, const CommonOptions& common, bool receives);
/// The returned callback may run on any thread. `log` must outlive it. Forgets what an earlier listing has kept.
[[nodiscard]] transfer::PlanCallback plan_listing(Log& log, PlanListing listing);
/// Puts the kept list into the report. A list that could not be written is an error.
void check_listing(Log& log, FinalReport& report);

}  // namespace udtx::apps
