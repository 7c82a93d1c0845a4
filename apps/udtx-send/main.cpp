#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>

#include "common/process.hpp"
#include "udtx-send/options.hpp"
#include "udtx-send/sender.hpp"

namespace udtx::apps {
namespace {

int finish_usage(Terminal& terminal, const std::string& message, bool json) {
    Log(std::string("udtx-send"), terminal, Log::Verbosity::normal).error(message);
    if (json) print_line(error_json(ExitCode::usage, message));
    return static_cast<int>(ExitCode::usage);
}

void show(const SendRun& run, const FinalReport& report) {
    run.terminal.clear_status();
    const auto& outcome = report.outcome;
    for (const std::string& warning : outcome.warnings) run.log.warn(warning);
    if (outcome.failed.size() > 1) {
        for (const auto& file : outcome.failed) run.log.warn("not delivered: " + describe(file));
    }
    if (report.code == ExitCode::ok || report.code == ExitCode::partial) {
        run.log.info(summary_line(report));
        if (const std::string line = transport_line(report); !line.empty()) run.log.info(line);
    }
    if (!report.error.empty()) run.log.error(report.error);
    if (run.command.common.json) print_line(to_json(report));
}

[[noreturn]] void leave(const SendRun& run, const FinalReport& report) {
    show(run, report);
    // Threads that sit in a disk call cannot be waited for.
    _exit(static_cast<int>(report.code));
}

int keygen(Terminal& terminal, std::vector<std::string> arguments) {
    KeygenCommand command;
    const auto parsed = parse_keygen_command(std::move(arguments), command);
    if (!parsed) return finish_usage(terminal, parsed.error().message, false);
    if (parsed.value()) return print_text(**parsed);
    const auto made =
        command.identity ? Credentials::write_identity(command.file) : Credentials::write_psk_file(command.file);
    Log log("udtx-send", terminal, Log::Verbosity::normal);
    if (!made) {
        log.error(made.error().message);
        return static_cast<int>(exit_code_for(made.error().code));
    }
    log.info(command.identity ? "private key in " + command.file + ", public key in " + command.file + ".pub"
                              : "key in " + command.file + "; copy it to the other machine by a safe way such as scp");
    return 0;
}

int send(Terminal& terminal, std::vector<std::string> arguments) {
    SendCommand command;
    const bool json = wants_json(arguments);
    const auto parsed = parse_send_command(std::move(arguments), command);
    if (!parsed) return finish_usage(terminal, parsed.error().message, json);
    if (parsed.value()) return print_text(**parsed);

    Log log("udtx-send", terminal, command.common.verbosity());
    if (!command.common.log_text.empty()) {
        if (const auto added = log.add_file(command.common.log_text); !added) {
            log.error(added.error().message);
            if (json) print_line(error_json(ExitCode::file_io, added.error().message));
            return static_cast<int>(ExitCode::file_io);
        }
    }
    if (!command.common.rate.is_infinite()) log.detail(describe_rate_cap(command.common.rate));
    SignalWatch signals;
    const SendRun run{command, log, terminal, signals};
    const FinalReport report = run_sender(run, [](const SendRun& r, const FinalReport& f) { leave(r, f); });
    show(run, report);
    return static_cast<int>(report.code);
}

}  // namespace
}  // namespace udtx::apps

int main(int argc, char** argv) {
    using namespace udtx::apps;
    try {
        forbid_core_dumps();
        Terminal terminal(STDERR_FILENO);
        std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
        if (!arguments.empty() && arguments.front() == "keygen") {
            arguments.erase(arguments.begin());
            return keygen(terminal, std::move(arguments));
        }
        return send(terminal, std::move(arguments));
    } catch (const std::exception& e) {
        std::cerr << "udtx-send: " << e.what() << '\n';
        return static_cast<int>(ExitCode::protocol);
    }
}
