#include "receive/verify.hpp"

#include <fcntl.h>

#include <system_error>
#include <utility>

#include "common/descriptors.hpp"
#include "common/json_writer.hpp"
#include "common/read_file.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/output.hpp"
#include "options/subcommands.hpp"
#include "udtx/output_file.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::apps {
namespace {

Result<void> write_list(const std::string& path, const std::string& names) {
    const auto failed = [&](const std::string& why) {
        return Error{ErrorCode::file_io, "cannot write '" + escape_for_terminal(path) + "': " + why};
    };
    auto out = open_output(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!out) return failed(out.error().message);
    int error = write_all(out->get(), names);
    if (const int closing = out->close(); error == 0) error = closing;
    return error == 0 ? Result<void>() : failed(std::generic_category().message(error));
}

std::string summary(const transfer::CheckCounts& counts) {
    const std::string all =
        format_count(counts.files) + (counts.files == 1 ? " file, " : " files, ") + format_bytes(counts.bytes);
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
    const auto parsed = parse_verify_command(std::move(arguments), command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, command.json);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    const auto receipt = read_file(command.receipt);
    if (!receipt) {
        return finish_early(log, exit_code_for(receipt.error().code), receipt.error().message, command.json);
    }
    std::vector<std::string> lines;
    std::string different;
    const auto checked = transfer::check_receipt(*receipt, command.directory,
                                                 {[&](const std::string& line) { lines.push_back(line); },
                                                  [&](const std::string& path) { (different += path) += '\0'; }});
    if (!checked) {
        const Error& error = checked.error();
        const bool damaged = error.code == ErrorCode::integrity;
        return finish_early(log, exit_code_for(error.code), (damaged ? command.receipt + ": " : "") + error.message,
                            command.json);
    }
    const transfer::CheckCounts& counts = *checked;
    const ExitCode code = code_of(counts);
    if (code == ExitCode::ok) {
        log.info(summary(counts));
    } else {
        log.error(summary(counts));
    }
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
    JsonWriter json;
    json.begin_object().key("exit_code").number(static_cast<int>(code));
    json.key("entries").number(counts.entries).key("files").number(counts.files).key("bytes").number(counts.bytes);
    json.key("different").number(counts.different).key("differences").begin_array();
    for (const std::string& line : lines) json.string(line);
    json.end_array().end_object();
    return print_output(log, json.text() + "\n", code);
}

}  // namespace udtx::apps
