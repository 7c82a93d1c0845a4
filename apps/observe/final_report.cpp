#include "observe/final_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <system_error>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

std::uint64_t files_found(const FinalReport& report) {
    return std::max({report.progress.files_total, report.progress.files_done, report.outcome.files});
}

/// Number of files that were found but neither delivered nor present before.
std::uint64_t files_missing(const FinalReport& report) {
    return files_found(report) - std::max(report.progress.files_done, report.outcome.files);
}

/// Describes entries that were present before, and deleted ones.
std::string left_and_deleted(const transfer::Outcome& outcome) {
    std::string line;
    if (outcome.unchanged > 0) line += ", " + format_count(outcome.unchanged) + " unchanged";
    if (outcome.skipped > 0) {
        line += ", " + format_count(outcome.skipped) + " existed and " + (outcome.skipped == 1 ? "was" : "were") +
                " not overwritten";
    }
    if (outcome.erased > 0) line += ", " + format_count(outcome.erased) + " deleted";
    return line;
}

/// What the job of a shard still waits for.
std::string state_of(const transfer::JobState& job) {
    if (job.complete()) return ", all " + counted(job.count, "shard") + " done";
    std::string line = ", " + format_count(job.done) + " of " + counted(job.count, "shard") + " done";
    if (job.waiting > 0)
        line += ", " + counted(job.waiting, "file") + (job.waiting == 1 ? " waits" : " wait") + " for others";
    return line;
}

Json json_of(const transfer::JobState& job) {
    return Json::object({{"run", to_hex(job.run)},
                         {"shard", job.index},
                         {"shards", job.count},
                         {"done", job.done},
                         {"waiting_files", job.waiting},
                         {"complete", job.complete()}});
}

/// The first path, with the packets of all.
PathStats totals_of(const FinalReport& report) {
    if (!report.stats || report.stats->paths.empty()) return {};
    PathStats total = report.stats->paths.front();
    total.sent_packets = total.lost_packets = total.retransmitted_packets = 0;
    for (const PathStats& path : report.stats->paths) {
        total.sent_packets += path.sent_packets;
        total.lost_packets += path.lost_packets;
        total.retransmitted_packets += path.retransmitted_packets;
    }
    return total;
}

const char* name_of(transfer::Belonging what) {
    switch (what) {
        case transfer::Belonging::owner:
            return "owner";
        case transfer::Belonging::mode:
            return "mode";
        case transfer::Belonging::time:
            return "time";
        case transfer::Belonging::attributes:
            return "attributes";
        case transfer::Belonging::hard_link:
            break;
    }
    return "hard_link";
}

Json json_of(const transfer::FailedFile& file) {
    Json out = Json::object({});
    out.add_bytes("path", file.path);
    return out.add({{"code", to_string(exit_code_for(file.code))}, {"reason", file.reason}});
}

Json json_of(const transfer::Unset& unset) {
    Json out = Json::object({{"what", name_of(unset.what)}, {"count", unset.count()}});
    return out.add_bytes("first", unset.first).add({{"reason", unset.reason}});
}

/// Bytes that this path carried. A sender counts acknowledged bytes, a receiver received ones.
std::uint64_t carried(const FinalReport& report, const PathStats& path) {
    return report.receives ? path.received_bytes : path.delivered_bytes;
}

Json paths_json(const FinalReport& report) {
    return Json::array(report.stats ? report.stats->paths : std::vector<PathStats>(), [&](const PathStats& path) {
        return Json::object({{"local", to_string(path.local)},
                             {"remote", to_string(path.remote)},
                             {"carrier", carrier_name(path.remote.carrier)},
                             {"state", to_string(path.state)},
                             {"bytes", carried(report, path)},
                             {"goodput_bps", Rate::from_bytes(carried(report, path), report.elapsed).bps()},
                             {"rtt_ms", in_milliseconds(path.smoothed_rtt)},
                             {"loss", loss_of(path)},
                             {"mtr_bps", path.congestion.mtr.bps()},
                             {"cd", path.congestion.congestion_degree},
                             {"blocked_s", to_seconds(path.blocked)},
                             {"reinjected_bytes", path.reinjected_bytes}});
    });
}

Json limits_json(const std::vector<LimitShare>& limits) {
    Json out = Json::object({});
    for (const LimitShare& share : limits) out.add({{name_of(share.limit), share.share}});
    return out;
}

}  // namespace

ExitCode exit_code_for(const transfer::Outcome& outcome) {
    const bool all = outcome.failed_count == 0 && outcome.unset.empty();
    if (outcome.status.ok()) return all ? ExitCode::ok : ExitCode::partial;
    const ErrorCode code = outcome.status.error().code;
    if (code != ErrorCode::partial || outcome.failed.empty()) return exit_code_for(code);
    const auto has_code = [](ErrorCode wanted) {
        return [wanted](const transfer::FailedFile& file) { return file.code == wanted; };
    };
    const auto& failed = outcome.failed;
    if (std::any_of(failed.begin(), failed.end(), has_code(ErrorCode::integrity))) return ExitCode::integrity;
    const bool nothing = outcome.files + outcome.links + outcome.unchanged + outcome.skipped == 0;
    if (nothing && std::all_of(failed.begin(), failed.end(), has_code(failed[0].code))) {
        return exit_code_for(failed[0].code);
    }
    return ExitCode::partial;
}

FinalReport never_began(const CommonOptions& options, const Error& error) {
    FinalReport report;
    report.code = exit_code_for(error.code);
    report.error = error.message;
    report.congestion = options.congestion_in_use();
    report.threads = options.threads;
    report.transfers = 0;
    return report;
}

Rate goodput(const FinalReport& report) { return Rate::from_bytes(report.outcome.sent_bytes, report.elapsed); }

std::optional<ConnectionStats> final_stats(std::optional<ConnectionStats> stats, const FinalReport& report) {
    const Result<void>& status = report.outcome.status;
    const bool confirmed = status.ok() || status.error().code == ErrorCode::partial;
    const bool told = confirmed && !report.progress.sender.empty();
    return report.receives || told ? of_data(std::move(stats), report.progress) : stats;
}

void close_books(FinalReport& report) {
    transfer::Outcome& outcome = report.outcome;
    if (report.dry_run) {
        outcome.files = outcome.directories = outcome.links = outcome.bytes = 0;
        outcome.unchanged = outcome.unchanged_directories = outcome.skipped = outcome.erased = outcome.kept_bytes = 0;
        return;
    }
    outcome.failed_count = std::max(outcome.failed_count, files_missing(report));
}

std::string describe_delivery(const FinalReport& report) {
    const transfer::Outcome& outcome = report.outcome;
    const transfer::Progress& progress = report.progress;
    const std::string least = outcome.exact ? "" : "at least ";
    if (report.streaming) return "the stream was cut off after " + least + format_bytes(outcome.sent_bytes);
    const std::string more = progress.totals_final ? "" : " and more";
    const std::string standing = left_and_deleted(outcome);
    std::string line =
        least + counted(outcome.files, "file") + " delivered complete (" + format_bytes(outcome.bytes) + ")";
    if (outcome.files == 0) {
        line = outcome.exact ? "nothing was delivered" : "no delivery is confirmed";
        const std::uint64_t found = files_found(report);
        if (standing.empty()) return found < 2 ? line : line + " of " + counted(found, "file") + more;
    }
    line += standing;
    const std::uint64_t missing = files_missing(report);
    if (missing == 0 && outcome.exact && more.empty()) return line;
    return line + ", " + (outcome.exact || !progress.totals_final ? "" : "at most ") + counted(missing, "file") + more +
           " not delivered";
}

std::string way_of(const FinalReport& report) {
    if (!report.stats) return {};
    // What an idle path carries besides data: a hundredth, and on a byte stream some of its large datagrams.
    constexpr std::uint64_t kStandingBy = 64U << 10U;
    std::array<std::uint64_t, 4> bytes{};
    for (const PathStats& path : report.stats->paths) {
        bytes.at(static_cast<std::size_t>(path.remote.carrier)) += carried(report, path);
    }
    const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    const auto counts = [&](std::size_t carrier) {
        return bytes.at(carrier) > all / 100 && (carrier == 0 || bytes[0] == 0 || bytes.at(carrier) > kStandingBy);
    };
    std::string way;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        constexpr std::array<const char*, 4> kNames{"UDP", "TCP", "ssh", "the relay"};
        if (counts(i)) way += (way.empty() ? "" : " and ") + std::string(kNames.at(i));
    }
    return way == "UDP" ? std::string() : way;
}

std::string summary_line(const FinalReport& report) {
    const transfer::Outcome& outcome = report.outcome;
    // Only the end that plans a dry run knows the counts.
    const std::uint64_t planned = outcome.files + outcome.directories + outcome.links;
    if (report.dry_run && planned == 0 && left_and_deleted(outcome).empty()) return "dry run, nothing was done";
    std::string line = (report.dry_run ? "dry run, nothing was done: " : "") + counted(outcome.files, "file");
    if (outcome.directories > 0)
        line += ", " + format_count(outcome.directories) + (outcome.directories == 1 ? " directory" : " directories");
    if (outcome.links > 0) line += ", " + counted(outcome.links, "symlink");
    line += ", " + format_bytes(outcome.bytes);
    line += left_and_deleted(outcome);
    if (report.dry_run) return line;
    // Holes of sparse files are delivered but not sent.
    if (outcome.sent_bytes != outcome.bytes) {
        line += " (" + format_bytes(outcome.sent_bytes) + (report.receives ? " received)" : " sent)");
    }
    if (outcome.kept_bytes > 0) line += ", " + format_bytes(outcome.kept_bytes) + " were there already";
    if (outcome.job) line += state_of(*outcome.job);
    if (report.reconnects > 0) line += ", reconnected " + counted(report.reconnects, "time");
    line += " in " + format_elapsed(report.elapsed);
    line += ", " + format_rate(goodput(report)) + " (" + format_byte_rate(goodput(report)) + ")";
    if (const std::string way = way_of(report); !way.empty()) line += ", over " + way;
    return line;
}

std::string transport_line(const FinalReport& report) {
    if (!report.stats) return {};
    const PathStats totals = totals_of(report);
    const Rate mtr = totals.congestion.mtr;
    std::string line;
    if (totals.sent_packets > 0) {
        line = "lost " + format_count(totals.lost_packets) + " of " + counted(totals.sent_packets, "packet") + ", " +
               format_count(totals.retransmitted_packets) + " sent again; ";
    }
    line += "RTT " + format_milliseconds(totals.smoothed_rtt);
    if (!mtr.is_zero()) line += ", MTR " + format_rate(mtr);
    line += ", datagrams of " + format_count(totals.datagram_bytes) + " B, " + report.congestion;
    if (!report.stats->cipher.empty()) line += ", " + report.stats->cipher;
    return line;
}

std::vector<std::string> path_lines(const FinalReport& report) {
    std::vector<std::string> lines;
    if (!report.stats || report.stats->paths.size() < 2) return lines;
    for (const PathStats& path : report.stats->paths) {
        lines.push_back("path " + std::to_string(path.id.value) + ", " + to_string(path.local) + " to " +
                        to_string(path.remote) + " (" + to_string(path.state) + (path.standby ? ", standby" : "") +
                        "): " + format_bytes(carried(report, path)) + ", " +
                        format_rate(Rate::from_bytes(carried(report, path), report.elapsed)) + ", RTT " +
                        format_milliseconds(path.smoothed_rtt) +
                        (path.sent_packets == 0 ? std::string()
                                                : ", lost " + format_count(path.lost_packets) + " of " +
                                                      counted(path.sent_packets, "packet")));
    }
    return lines;
}

std::vector<std::string> stats_lines(const FinalReport& report) {
    const transfer::Outcome& outcome = report.outcome;
    const PathStats path = totals_of(report);
    std::vector<std::string> lines;
    lines.push_back("files delivered: " + format_count(outcome.files) + " (directories " +
                    format_count(outcome.directories) + ", symlinks " + format_count(outcome.links) + ")");
    lines.push_back("entries not delivered: " + format_count(outcome.failed_count));
    lines.push_back("size of the files: " + format_count(outcome.bytes) + " bytes");
    lines.push_back((report.receives ? "received: " : "sent: ") + format_count(outcome.sent_bytes) +
                    " bytes; there from an earlier run: " + format_count(outcome.kept_bytes) + " bytes");
    lines.push_back("time: " + format_elapsed(report.elapsed) + "; rate: " + format_rate(goodput(report)) + " (" +
                    format_byte_rate(goodput(report)) + ")");
    if (!report.stats) return lines;
    const bool known = path.sent_packets > 0;
    lines.push_back(known ? "packets sent" + std::string(report.receives ? " by the sender: " : ": ") +
                                format_count(path.sent_packets) + ", lost: " + format_count(path.lost_packets) +
                                ", sent again: " + format_count(path.retransmitted_packets)
                          : "packets sent: not reported");
    lines.push_back("RTT: " + format_milliseconds(path.smoothed_rtt) + ", shortest " +
                    format_milliseconds(path.min_rtt) + ", variation " + format_milliseconds(path.rtt_variance));
    lines.push_back("MTR: " + (path.congestion.mtr.is_zero() ? "not measured" : format_rate(path.congestion.mtr)) +
                    "; datagrams of " + format_count(path.datagram_bytes) + " bytes; " + report.congestion + "; " +
                    report.stats->cipher);
    for (const LimitShare& share : report.limits) {
        lines.push_back("limited by " + std::string(text_of(share.limit)) + ": " +
                        format_elapsed(from_seconds(to_seconds(report.elapsed) * share.share)));
    }
    return lines;
}

std::string to_json(const FinalReport& report) {
    const transfer::Outcome& outcome = report.outcome;
    const PathStats totals = totals_of(report);
    // Only the data's sender counts packets, and a receiver may not have heard of them.
    const auto packets = [&](std::uint64_t count) {
        return totals.sent_packets > 0 || !report.receives ? Json(count) : Json(nullptr);
    };
    const ExitCode code = report.code;
    Json json = Json::object({
        {"event", "end"},
        {"status", code == ExitCode::ok        ? "ok"
                   : code == ExitCode::partial ? "partial"
                                               : "error"},
        {"exit_code", static_cast<int>(code)},
        {"reason", to_string(code)},
        {"error", report.error.empty() ? Json(nullptr) : Json(report.error)},
        {"bytes", outcome.bytes},
        {"files", outcome.files},
        {"directories", outcome.directories},
        {"symlinks", outcome.links},
        {"unchanged", outcome.unchanged},
        {"unchanged_directories", outcome.unchanged_directories},
        {"skipped", outcome.skipped},
        {"deleted", outcome.erased},
        {"dry_run", report.dry_run},
        {"confirmed", outcome.exact && report.connected},
        {"sent_bytes", outcome.sent_bytes},
        {"resumed_bytes", outcome.kept_bytes},
        {"seconds", to_seconds(report.elapsed)},
        {"goodput_bps", goodput(report).bps()},
        {"sent_packets", packets(totals.sent_packets)},
        {"retransmitted_packets", packets(totals.retransmitted_packets)},
        {"lost_packets", packets(totals.lost_packets)},
        {"rtt_ms", in_milliseconds(totals.smoothed_rtt)},
        {"min_rtt_ms", in_milliseconds(totals.min_rtt)},
        {"mtr_bps", totals.congestion.mtr.bps()},
        {"datagram_bytes", totals.datagram_bytes},
        {"cc", report.congestion},
        {"cipher", report.stats ? report.stats->cipher : std::string()},
        {"streams", report.threads},
        {"reconnects", report.reconnects},
        {"transfers", report.transfers},
        {"job", outcome.job ? json_of(*outcome.job) : Json(nullptr)},
        {"limited_by", report.limits.empty() ? Json(nullptr) : Json(name_of(report.limits.front().limit))},
        {"limits", limits_json(report.limits)},
        {"paths", paths_json(report)},
        {"failed_count", outcome.failed_count},
        {"failed", Json::array(outcome.failed, [](const auto& file) { return json_of(file); })},
        {"unset", Json::array(outcome.unset, [](const auto& unset) { return json_of(unset); })},
        {"warnings", Json::array(outcome.warnings)},
    });
    if (report.dry_run && !report.plan.empty()) {
        json.add({{"plan", Json::ready(report.plan)}, {"plan_complete", !report.plan_cut}});
    }
    return json.text();
}

std::string error_json(ExitCode code, const std::string& error) {
    FinalReport report;
    report.code = code;
    report.error = error;
    report.transfers = 0;
    return to_json(report);
}

std::string describe(const transfer::FailedFile& file) {
    const bool named = file.reason.find("'" + transfer::escape_name(file.path) + "'") != std::string::npos;
    return named ? file.reason : escape_for_terminal(file.path) + ": " + file.reason;
}

void accumulate(transfer::Outcome& total, const transfer::Outcome& next) {
    total.files += next.files;
    total.directories += next.directories;
    total.links += next.links;
    total.bytes += next.bytes;
    total.sent_bytes += next.sent_bytes;
    total.kept_bytes += next.kept_bytes;
    total.unchanged += next.unchanged;
    total.unchanged_directories += next.unchanged_directories;
    total.skipped += next.skipped;
    total.erased += next.erased;
    total.failed_count += next.failed_count;
    const auto add_some = [](auto& to, const auto& from) {
        const std::size_t room = transfer::kMaxListedFailures - std::min(to.size(), transfer::kMaxListedFailures);
        to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(room, from.size())));
    };
    add_some(total.failed, next.failed);
    add_some(total.warnings, next.warnings);
    for (const transfer::Unset& unset : next.unset) transfer::add(total.unset, unset);
}

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
        if (!report.advice.empty()) log.info(options.from + report.advice);
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
    const bool network = code == ErrorCode::network || code == ErrorCode::no_resources || code == ErrorCode::no_route ||
                         code == ErrorCode::timeout || code == ErrorCode::udp_blocked;
    const bool disk = code == ErrorCode::file_io && outcome.files + outcome.kept_bytes + outcome.sent_bytes > 0;
    const bool stopped = code == ErrorCode::interrupted || code == ErrorCode::going_away;
    const bool helps = interrupted || stopped || network || disk;
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

ExitCode print_output(Log& log, std::string_view text, ExitCode code) {
    const int failed = write_all(STDOUT_FILENO, text);
    if (failed == 0) return code;
    // EBADF: standard output was closed at the start of the program.
    log.error("cannot write to standard output: " +
              (failed == EBADF ? std::string("it is closed") : std::generic_category().message(failed)));
    return code == ExitCode::ok ? ExitCode::file_io : code;
}

ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json) {
    log.error(message);
    return json ? print_output(log, error_json(code, message) + "\n", code) : code;
}

ExitCode finish_early(Log& log, const Error& error, bool json) {
    return finish_early(log, exit_code_for(error.code), error.message, json);
}

std::optional<ExitCode> stop_early(Log& log, const Result<EarlyText>& parsed, bool json) {
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, json);
    if (parsed.value()) return print_output(log, *parsed.value(), ExitCode::ok);
    return std::nullopt;
}

void check_log(Log& log, FinalReport& report) {
    const auto written = log.file_status();
    if (written || report.code != ExitCode::ok) return;
    report.code = ExitCode::file_io;
    report.error = written.error().message;
    log.error(report.error);
}

Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options) {
    if (options.receipt.empty()) return std::optional<transfer::ReceiptFile>();
    auto receipt = transfer::ReceiptFile::create(options.receipt);
    if (!receipt) return Error{receipt.error().code, "--receipt: " + receipt.error().message};
    return std::optional(std::move(*receipt));
}

void judge_receipt(FinalReport& report) {
    const Result<void>& receipt = report.outcome.receipt;
    if (receipt || report.code != ExitCode::ok) return;
    report.code = exit_code_for(receipt.error().code);
    report.error = "everything was delivered, but " + receipt.error().message;
}

}  // namespace udtx::apps
