#include "receive/clean.hpp"

#include <utility>

#include "common/json_writer.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/output.hpp"
#include "options/subcommands.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::apps {
namespace {

std::string summary(const CleanCommand& command, const transfer::CleanCounts& counts) {
    std::string line = command.dry_run ? "nothing was done: " : "";
    line += format_count(counts.removed) + (counts.removed == 1 ? " file" : " files") + ", " +
            format_bytes(counts.bytes) + (command.dry_run ? " would be removed" : " removed");
    if (counts.kept > 0) line += ", " + format_count(counts.kept) + " kept";
    return line;
}

}  // namespace

ExitCode run_clean(Log& log, std::vector<std::string> arguments) {
    CleanCommand command;
    const auto parsed = parse_clean_command(std::move(arguments), command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, command.json);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    std::string lines;
    JsonWriter json;
    json.begin_object().key("removed").begin_array();
    const auto counts = transfer::clean_leftovers(
        command.names.front(), {command.dry_run, static_cast<std::int64_t>(command.older_than), command.jobs},
        {[&](const std::string& path, std::uint64_t /*bytes*/) {
             lines += escape_for_terminal(path) + "\n";
             json.string(path);
         },
         [&](const std::string& path, const std::string& why) {
             log.info("kept " + escape_for_terminal(path) + ": " + why);
         },
         [&](const std::string& /*path*/, const Error& error) { log.error(error.message); }});
    if (!counts) return finish_early(log, exit_code_for(counts.error().code), counts.error().message, command.json);
    const ExitCode code = counts->failed == 0 ? ExitCode::ok : ExitCode::file_io;
    log.info(summary(command, *counts));
    if (!command.json) return print_output(log, lines, code);
    json.end_array().key("exit_code").number(static_cast<int>(code)).key("dry_run").boolean(command.dry_run);
    json.key("bytes").number(counts->bytes).key("kept").number(counts->kept).key("failed").number(counts->failed);
    json.end_object();
    return print_output(log, json.text() + "\n", code);
}

}  // namespace udtx::apps
