#include "receive/receive.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "options/subcommands.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::apps {
namespace {

std::string summary(const CleanCommand& command, const transfer::CleanCounts& counts) {
    std::string line = command.dry_run ? "nothing was done: " : "";
    line += counted(counts.removed, "file") + ", " + format_bytes(counts.bytes) +
            (command.dry_run ? " would be removed" : " removed");
    if (counts.kept > 0) line += ", " + format_count(counts.kept) + " kept";
    return line;
}

}  // namespace

ExitCode run_clean(Log& log, std::vector<std::string> arguments) {
    CleanCommand command;
    const auto parsed = command.parse(std::move(arguments));
    if (const auto code = stop_early(log, parsed, command.json)) return *code;
    std::string lines;
    std::vector<std::string> removed;
    const auto counts = transfer::clean_leftovers(
        command.words.front(), {command.dry_run, static_cast<std::int64_t>(command.older_than), command.jobs},
        {[&](const std::string& path, std::uint64_t /*bytes*/) {
             lines += escape_for_terminal(path) + "\n";
             removed.push_back(path);
         },
         [&](const std::string& path, const std::string& why) {
             log.info("kept " + escape_for_terminal(path) + ": " + why);
         },
         [&](const std::string& /*path*/, const Error& error) { log.error(error.message); }});
    if (!counts) return finish_early(log, counts.error(), command.json);
    const ExitCode code = counts->failed == 0 ? ExitCode::ok : ExitCode::file_io;
    log.info(summary(command, *counts));
    if (!command.json) return print_output(log, lines, code);
    const Json json = Json::object({{"removed", Json::array(removed)},
                                    {"exit_code", static_cast<int>(code)},
                                    {"dry_run", command.dry_run},
                                    {"bytes", counts->bytes},
                                    {"kept", counts->kept},
                                    {"failed", counts->failed}});
    return print_output(log, json.text() + "\n", code);
}

namespace {

Error cannot_write(const std::string& path, const std::string& why) {
    return {ErrorCode::file_io, "cannot write '" + escape_for_terminal(path) + "': " + why};
}
Error cannot_write(const std::string& path, int error) {
    return failed_call(ErrorCode::file_io, "cannot write '" + escape_for_terminal(path) + '\'', error);
}

/// Returns 0 or an errno. Some file systems do not support fsync(), which is not an error.
int sync_merged(int fd) {
    if (again([&] { return ::fsync(fd); }) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
}

/// The existing file stays until the new one is completely on the disk.
Result<void> replace_file(const std::string& path, const std::string& text) {
    auto place = OutputPlace::find(path);
    auto file = place ? NewVersion::create(std::move(*place)) : Result<NewVersion>(place.error());
    if (!file && file.error().system_error == EINVAL) {
        return cannot_write(path, file.error().message + "; give OUT another name");
    }
    if (!file) return cannot_write(path, file.error().message);
    int error = write_all(file->fd(), text);
    if (error == 0) error = sync_merged(file->fd());
    if (error == 0) error = file->commit(text.size());
    return error == 0 ? Result<void>() : cannot_write(path, error);
}

/// True if OUT is also an input. Then that shard's receipt would be lost, and the merge could not be repeated.
bool is_input(const std::string& output, const std::vector<std::string>& inputs) {
    return std::ranges::any_of(inputs, [&](const std::string& input) {
        std::error_code missing;
        return std::filesystem::equivalent(output, input, missing) && !missing;
    });
}

}  // namespace

ExitCode run_receipt(Log& log, std::vector<std::string> arguments) {
    ReceiptCommand command;
    const auto parsed = command.parse(std::move(arguments));
    if (const auto code = stop_early(log, parsed, false)) return *code;
    const std::string& output = command.words[1];
    const std::vector<std::string> inputs(command.words.begin() + 2, command.words.end());
    if (is_input(output, inputs)) {
        return finish_early(log, ExitCode::usage,
                            "OUT '" + escape_for_terminal(output) + "' is one of the receipts; give it another name",
                            false);
    }
    std::vector<transfer::NamedReceipt> receipts;
    for (const std::string& name : inputs) {
        auto text = read_file(name);
        if (!text) return finish_early(log, text.error(), false);
        receipts.push_back({escape_for_terminal(name), std::move(*text)});
    }
    const auto merged = transfer::merge_receipts(receipts);
    if (!merged) return finish_early(log, merged.error(), false);
    if (const auto written = replace_file(output, merged->text); !written) {
        return finish_early(log, ExitCode::file_io, written.error().message, false);
    }
    log.info(counted(receipts.size(), "receipt") + ": " + counted(merged->files, "file") + ", " +
             format_bytes(merged->bytes));
    return ExitCode::ok;
}

namespace {

Result<void> write_list(const std::string& path, const std::string& names) {
    auto out = open_output(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!out) return cannot_write(path, out.error().message);
    int error = write_all(out->get(), names);
    if (const int closing = out->close(); error == 0) error = closing;
    return error == 0 ? Result<void>() : cannot_write(path, error);
}

std::string summary(const transfer::CheckCounts& counts) {
    const std::string all = counted(counts.files, "file") + ", " + format_bytes(counts.bytes);
    if (counts.different == 0) return all + ": all as the receipt says";
    return format_count(counts.different) + " of " + format_count(counts.entries) +
           (counts.entries == 1 ? " entry differs (" : " entries differ (") + all + ")";
}

ExitCode code_of(const transfer::CheckCounts& counts) {
    if (counts.different == 0) return ExitCode::ok;
    return counts.unreadable == counts.different ? ExitCode::file_io : ExitCode::integrity;
}

}  // namespace

ExitCode run_verify(Log& log, std::vector<std::string> arguments) {
    VerifyCommand command;
    const auto parsed = command.parse(std::move(arguments));
    if (const auto code = stop_early(log, parsed, command.json)) return *code;
    const std::string& receipt_name = command.words[0];
    const auto receipt = read_file(receipt_name);
    if (!receipt) return finish_early(log, receipt.error(), command.json);
    std::vector<std::string> lines;
    std::string different;
    const auto checked = transfer::check_receipt(*receipt, command.words[1],
                                                 {[&](const std::string& line) { lines.push_back(line); },
                                                  [&](const std::string& path) { (different += path) += '\0'; }});
    if (!checked) {
        const Error& error = checked.error();
        const bool damaged = error.code == ErrorCode::integrity;
        return finish_early(log, exit_code_for(error.code), (damaged ? receipt_name + ": " : "") + error.message,
                            command.json);
    }
    const transfer::CheckCounts& counts = *checked;
    const ExitCode code = code_of(counts);
    code == ExitCode::ok ? log.info(summary(counts)) : log.error(summary(counts));
    if (!command.repair_list.empty()) {
        if (const auto written = write_list(command.repair_list, different); !written) {
            return finish_early(log, ExitCode::file_io, "--repair-list: " + written.error().message, command.json);
        }
        if (counts.different > 0) {
            log.info("to repair it, send again from the directory with these names: udtx-send -c -0 --files-from " +
                     escape_for_terminal(command.repair_list) + " ...");
        }
    }
    log.info("not checked: modes, times, owners and attributes, and what the receipt does not name");
    if (!command.json) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        return print_output(log, text, code);
    }
    const Json json = Json::object({{"exit_code", static_cast<int>(code)},
                                    {"entries", counts.entries},
                                    {"files", counts.files},
                                    {"bytes", counts.bytes},
                                    {"different", counts.different},
                                    {"differences", Json::array(lines)}});
    return print_output(log, json.text() + "\n", code);
}

}  // namespace udtx::apps
