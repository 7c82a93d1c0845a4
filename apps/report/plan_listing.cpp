#include "report/plan_listing.hpp"

#include <iostream>
#include <memory>
#include <mutex>
#include <string>

#include "common/text.hpp"

namespace udtx::apps {
namespace {

const char* word_for(transfer::PlannedEntry::Kind kind) {
    using Kind = transfer::PlannedEntry::Kind;
    switch (kind) {
        case Kind::send:
            return "send  ";
        case Kind::update:
            return "update";
        case Kind::directory:
            return "dir   ";
        case Kind::link:
            return "link  ";
        case Kind::unchanged:
            return "same  ";
        case Kind::skip:
            return "exists";
        case Kind::erase:
            return "delete";
    }
    return "";
}

}  // namespace

transfer::PlanCallback plan_listing(Log& log, PlanListing listing) {
    using Kind = transfer::PlannedEntry::Kind;
    return [&log, listing, guard = std::make_shared<std::mutex>()](const transfer::PlannedEntry& entry) {
        const std::string line = std::string(word_for(entry.kind)) + " " + escape_for_terminal(entry.path);
        const bool left = entry.kind == Kind::unchanged || entry.kind == Kind::directory;
        if (!listing.list) {
            if (entry.kind == Kind::erase) log.detail(line);
            return;
        }
        if (left && !listing.verbose) return;
        const std::lock_guard lock(*guard);
        std::cout << line << '\n';
    };
}

void check_listing(Log& log, FinalReport& report) {
    if (!report.dry_run || std::cout.flush()) return;
    log.error("cannot write the list to standard output");
    if (report.code == ExitCode::ok) report.code = ExitCode::file_io;
}

}  // namespace udtx::apps
