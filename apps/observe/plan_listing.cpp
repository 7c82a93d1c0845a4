#include "observe/plan_listing.hpp"

#include <iostream>
#include <mutex>
#include <string>
#include <utility>

#include "common/text.hpp"
#include "observe/itemize.hpp"

namespace udtx::apps {
namespace {

// Bytes of the list in one JSON object. --json-stream has no such limit.
constexpr std::size_t kMaxKeptBytes = 256U << 20U;

/// The list kept for the only transfer of this process.
struct Kept {
    std::mutex mutex;
    std::string objects;  // separated by commas
    bool cut = false;
    bool wanted = false;
};

Kept& kept() {
    static Kept all;
    return all;
}

void keep(const std::string& object) {
    Kept& all = kept();
    if (all.objects.size() + object.size() > kMaxKeptBytes) {
        all.cut = true;
        return;
    }
    if (!all.objects.empty()) all.objects += ',';
    all.objects += object;
}

}  // namespace

PlanListing listing_of(const TreeOptions& tree, const CommonOptions& common, bool receives) {
    using Form = PlanListing::Form;
    Form form = common.quiet ? Form::none : Form::lines;
    if (common.json) form = common.observing.json_stream ? Form::objects : Form::kept;
    return {tree.dry_run ? form : Form::none, common.verbose, receives};
}

transfer::PlanCallback plan_listing(Log& log, PlanListing listing) {
    using Form = PlanListing::Form;
    using Planned = transfer::PlannedEntry;
    {
        const std::lock_guard lock(kept().mutex);
        kept().objects.clear();
        kept().cut = false;
        kept().wanted = listing.form == Form::kept;
    }
    return [&log, listing](const transfer::PlannedEntry& entry) {
        if (listing.form == Form::none) {
            if (entry.kind == Planned::Kind::erase) log.detail("delete " + escape_for_terminal(entry.path));
            return;
        }
        if (entry.kind == Planned::Kind::unchanged && entry.changes == 0 && !listing.verbose) return;
        const std::lock_guard lock(kept().mutex);
        if (listing.form == Form::kept) return keep(itemized_json(entry, listing.receives, false));
        const std::string line = listing.form == Form::objects ? itemized_json(entry, listing.receives, true)
                                                               : itemized_line(entry, listing.receives);
        std::cout << line + '\n';
        // Progress objects bypass this buffer. The flush after each object keeps every line whole.
        if (listing.form == Form::objects) std::cout.flush();
    };
}

void check_listing(Log& log, FinalReport& report) {
    if (!report.dry_run) return;
    {
        const std::lock_guard lock(kept().mutex);
        if (kept().wanted) report.plan = '[' + std::exchange(kept().objects, {}) + ']';
        report.plan_cut = kept().cut;
    }
    if (std::cout.flush()) return;
    log.error("cannot write the list to standard output");
    if (report.code == ExitCode::ok) report.code = ExitCode::file_io;
}

}  // namespace udtx::apps
