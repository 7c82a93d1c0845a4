#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>

#include "common/process.hpp"
#include "udtx-recv/options.hpp"
#include "udtx-recv/server.hpp"

namespace udtx::apps {
namespace {

void show_end(const RecvRun& run, const FinalReport& report) {
    run.terminal.clear_status();
    // A long-running receiver has told about each transfer already.
    if (run.command.one_off || !report.error.empty()) {
        FinalReport last = report;
        if (!run.command.one_off) {
            last.outcome.warnings.clear();
            last.outcome.failed.clear();
        }
        show(run, last, {});
    }
    if (!run.command.common.json) return;
    if (run.command.to_stdout) {
        run.terminal.line(to_json(report));
    } else {
        print_line(to_json(report));
    }
}

[[noreturn]] void leave(const RecvRun& run, const FinalReport& report) {
    show_end(run, report);
    // Threads that sit in a disk call cannot be waited for.
    _exit(static_cast<int>(report.code));
}

int finish_early(Terminal& terminal, ExitCode code, const std::string& message, bool json) {
    Log("udtx-recv", terminal, Log::Verbosity::normal).error(message);
    if (json) print_line(error_json(code, message));
    return static_cast<int>(code);
}

int receive(Terminal& terminal, std::vector<std::string> arguments) {
    RecvCommand command;
    const bool json = wants_json(arguments);
    const auto parsed = parse_recv_command(std::move(arguments), command);
    if (!parsed) return finish_early(terminal, ExitCode::usage, parsed.error().message, json);
    if (parsed.value()) return print_text(**parsed);

    Log log("udtx-recv", terminal, command.common.verbosity());
    if (!command.common.log_text.empty()) {
        const auto added = log.add_file(command.common.log_text);
        if (!added) return finish_early(terminal, ExitCode::file_io, added.error().message, json);
    }
    if (!command.common.rate.is_infinite()) log.detail(describe_rate_cap(command.common.rate));
    SignalWatch signals;
    const RecvRun run{command, log, terminal, signals};
    const FinalReport report = run_receiver(run, [](const RecvRun& r, const FinalReport& f) { leave(r, f); });
    show_end(run, report);
    return static_cast<int>(report.code);
}

}  // namespace
}  // namespace udtx::apps

int main(int argc, char** argv) {
    using namespace udtx::apps;
    try {
        forbid_core_dumps();
        Terminal terminal(STDERR_FILENO);
        return receive(terminal, std::vector<std::string>(argv + 1, argv + std::max(argc, 1)));
    } catch (const std::exception& e) {
        std::cerr << "udtx-recv: " << e.what() << '\n';
        return static_cast<int>(ExitCode::protocol);
    }
}
