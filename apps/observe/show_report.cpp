#include "observe/show_report.hpp"

#include <algorithm>
#include <vector>

#include "common/units.hpp"

namespace udtx::apps {
namespace {

constexpr std::size_t kListed = 10;

/// Prints some of `items`, then how many of the `count` items are left out.
template <class Item, class Print>
void list(Log& log, const std::vector<Item>& items, std::uint64_t count, const ShowOptions& options, Print&& print) {
    const std::size_t shown = options.verbose ? items.size() : std::min(items.size(), kListed);
    for (std::size_t i = 0; i < shown; ++i) log.warn(options.from + print(items[i]));
    if (count <= shown) return;
    log.warn(options.from + "... and " + format_count(count - shown) + " more" +
             (options.verbose || items.size() <= shown ? "" : "; -v lists them"));
}

}  // namespace

void show_report(Log& log, const FinalReport& report, const ShowOptions& options) {
    const transfer::Outcome& outcome = report.outcome;
    list(log, outcome.warnings, outcome.warnings.size(), options, [](const std::string& warning) { return warning; });
    // A single failure is printed as the error line. So is a single kind of attribute that could not be set, if nothing
    // failed.
    for (const transfer::Unset& unset : outcome.unset) {
        if (outcome.unset.size() + outcome.failed_count > 1) log.warn(options.from + describe(unset));
    }
    if (outcome.failed.size() > 1) {
        list(log, outcome.failed, outcome.failed_count, options,
             [&](const transfer::FailedFile& file) { return std::string(options.failed) + ": " + describe(file); });
    }
    if (report.code == ExitCode::ok || report.code == ExitCode::partial) {
        log.info(options.from + summary_line(report));
        const std::string line = transport_line(report);
        if (!line.empty() && options.transport) log.info(options.from + line);
        if (!line.empty() && !options.transport) log.detail(options.from + line);
        // A receiver of many transfers would print this line for each, so there it is a detail.
        if (const std::string limits = limit_line(report.limits); !limits.empty()) {
            options.transport ? log.info(options.from + limits) : log.detail(options.from + limits);
        }
        for (const std::string& path : path_lines(report)) log.detail(options.from + path);
        if (options.stats) {
            for (const std::string& stat : stats_lines(report)) log.info(options.from + stat);
        }
    }
    if (!report.error.empty()) log.error(options.from + report.error);
}

std::string how_to_go_on(const transfer::Outcome& outcome, bool interrupted) {
    // A refusal or a failed verification would occur again.
    const ErrorCode code = outcome.status.ok() ? ErrorCode::interrupted : outcome.status.error().code;
    const bool line = code == ErrorCode::network || code == ErrorCode::no_route || code == ErrorCode::timeout ||
                      code == ErrorCode::udp_blocked;
    const bool disk = code == ErrorCode::file_io && outcome.files + outcome.kept_bytes + outcome.sent_bytes > 0;
    const bool stopped = code == ErrorCode::interrupted || code == ErrorCode::going_away;
    const bool helps = interrupted || stopped || line || disk;
    return outcome.continues && helps ? "; the same command continues from here" : "";
}

std::string partial_message(const FinalReport& report, const char* failed, bool quiet) {
    const transfer::Outcome& outcome = report.outcome;
    if (outcome.failed_count == 0) {
        const std::size_t kinds = outcome.unset.size();
        if (kinds == 1) return describe(outcome.unset.front());
        return "everything was delivered, but " + std::to_string(kinds) + " kinds of attributes could not be set" +
               (quiet && kinds > 0 ? ", the first is: " + describe(outcome.unset.front()) : "");
    }
    if (outcome.failed_count == 1 && outcome.failed.size() == 1) {
        return std::string(failed) + ": " + describe(outcome.failed.front());
    }
    std::string message = std::string(failed) + ": " + format_count(outcome.failed_count) +
                          (outcome.failed_count == 1 ? " entry" : " entries");
    if (quiet && !outcome.failed.empty()) message += ", the first is " + describe(outcome.failed.front());
    return message;
}

}  // namespace udtx::apps
