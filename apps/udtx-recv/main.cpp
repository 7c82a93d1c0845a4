#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "common/process.hpp"
#include "common/units.hpp"
#include "control/control_socket.hpp"
#include "doctor/host.hpp"
#include "observe/final_report.hpp"
#include "observe/plan_listing.hpp"
#include "options/commands.hpp"
#include "receive/bootstrap.hpp"
#include "receive/commands.hpp"
#include "receive/pull.hpp"
#include "serve/server_report.hpp"
#include "serve/server_run.hpp"

namespace udtx::apps {
namespace {

ExitCode show_end(const RecvRun& run, FinalReport report) {
    run.terminal.clear_status();
    // A long-running receiver has already reported each transfer.
    if (run.command.one_off || !report.error.empty()) {
        FinalReport last = report;
        if (!run.command.one_off) {
            last.outcome.warnings.clear();
            last.outcome.failed.clear();
        }
        show(run, last, {}, false);
    }
    check_log(run.log, report);
    check_listing(run.log, report);
    if (!run.command.common.json) return report.code;
    if (!run.command.to_stdout) return print_output(run.log, to_json(report) + "\n", report.code);
    run.terminal.line(to_json(report));
    return report.code;
}

[[noreturn]] void leave(const RecvRun& run, const FinalReport& report) {
    // Threads that are blocked in a disk call cannot be joined.
    _exit(static_cast<int>(show_end(run, report)));
}

ExitCode doctor(Terminal& terminal, std::vector<std::string> arguments) {
    Log log("udtx-recv", terminal, Log::Verbosity::normal);
    DoctorCommand command;
    const auto parsed = parse_doctor(std::move(arguments), false, command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    return show_host(log, command);
}

ExitCode receive(Terminal& terminal, const StandardDescriptors& standard, const std::vector<std::string>& arguments) {
    RecvCommand command;
    const bool json = wants_json(arguments);
    const auto parsed = parse_recv_command(arguments, command);
    Log log("udtx-recv", terminal, parsed ? command.common.verbosity() : Log::Verbosity::normal);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, json);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    if (const auto added = open_log(log, command.common); !added) {
        return finish_early(log, ExitCode::file_io, added.error().message, json);
    }
    if (command.to_stdout && standard.was_closed(STDOUT_FILENO)) {
        return finish_early(log, ExitCode::file_io, "standard output is closed: give '-' a file or a pipe to write",
                            false);
    }
    if (!command.common.rate.is_infinite()) log.info(describe_rate_cap(command.common.rate));
    SignalWaiter signals;
    const RecvRun run{command, log, terminal, signals};
    const auto leave_now = [](const RecvRun& r, const FinalReport& f) { leave(r, f); };
    return show_end(run, command.pulls() ? run_pull(run, leave_now) : run_receiver(run, leave_now));
}

}  // namespace
}  // namespace udtx::apps

int main(int argc, char** argv) {
    using namespace udtx::apps;
    const StandardDescriptors standard;
    try {
        end_cleanly_without_memory();
        forbid_core_dumps();
        raise_descriptor_limit();
        Terminal terminal(STDERR_FILENO);
        std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
        if (!arguments.empty() && arguments.front() == "--bootstrap") {
            return static_cast<int>(receive_by_bootstrap({arguments.begin() + 1, arguments.end()}));
        }
        if (!arguments.empty() && arguments.front() == "verify") {
            arguments.erase(arguments.begin());
            Log log("udtx-recv", terminal, Log::Verbosity::normal);
            return static_cast<int>(run_verify(log, std::move(arguments)));
        }
        if (!arguments.empty() && arguments.front() == "receipt") {
            arguments.erase(arguments.begin());
            Log log("udtx-recv", terminal, Log::Verbosity::normal);
            return static_cast<int>(run_receipt(log, std::move(arguments)));
        }
        if (!arguments.empty() && arguments.front() == "clean") {
            arguments.erase(arguments.begin());
            Log log("udtx-recv", terminal, Log::Verbosity::normal);
            return static_cast<int>(run_clean(log, std::move(arguments)));
        }
        if (!arguments.empty() && arguments.front() == "doctor") {
            return static_cast<int>(doctor(terminal, {arguments.begin() + 1, arguments.end()}));
        }
        if (!arguments.empty() && arguments.front() == "ctl") {
            Log log("udtx-recv", terminal, Log::Verbosity::normal);
            return static_cast<int>(run_ctl(log, "udtx-recv", {arguments.begin() + 1, arguments.end()}));
        }
        return static_cast<int>(receive(terminal, standard, arguments));
    } catch (const std::system_error& e) {
        // The system refuses a thread. This is not an error of the program.
        std::cerr << "udtx-recv: " << e.what() << '\n';
        return static_cast<int>(ExitCode::network);
    } catch (const std::bad_alloc&) {
        std::cerr << "udtx-recv: out of memory\n";
        return static_cast<int>(ExitCode::file_io);
    } catch (const std::exception& e) {
        std::cerr << "udtx-recv: " << e.what() << '\n';
        return static_cast<int>(ExitCode::protocol);
    }
}
