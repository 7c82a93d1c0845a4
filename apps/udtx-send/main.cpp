#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "common/process.hpp"
#include "common/units.hpp"
#include "control/control_socket.hpp"
#include "doctor/doctor.hpp"
#include "observe/final_report.hpp"
#include "observe/plan_listing.hpp"
#include "options/commands.hpp"
#include "options/subcommands.hpp"
#include "send/bootstrap.hpp"
#include "send/plan.hpp"
#include "send/probe.hpp"
#include "send/sender.hpp"

namespace udtx::apps {
namespace {

ExitCode show(const SendRun& run, FinalReport report) {
    run.terminal.clear_status();
    show_report(run.log, report,
                {{},
                 "not delivered",
                 run.command.common.verbose,
                 run.command.common.observing.stats,
                 run.command.common.wants_details(run.terminal.is_tty())});
    check_log(run.log, report);
    check_listing(run.log, report);
    if (!run.command.common.json) return report.code;
    return print_output(run.log, to_json(report) + "\n", report.code);
}

[[noreturn]] void leave(const SendRun& run, const FinalReport& report) {
    // Threads that are blocked in a disk call cannot be joined.
    _exit(static_cast<int>(show(run, report)));
}

ExitCode keygen(Log& log, std::vector<std::string> arguments) {
    KeygenCommand command;
    const auto parsed = parse_keygen_command(std::move(arguments), command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    const auto made =
        command.identity ? Credentials::write_identity(command.file) : Credentials::write_psk_file(command.file);
    if (!made) {
        const bool wrong_name = made.error().system_error == EEXIST;
        return finish_early(log, wrong_name ? ExitCode::usage : exit_code_for(made.error().code), made.error().message,
                            false);
    }
    log.info(command.identity
                 ? "private key in " + command.file + ", public key in " + command.file + ".pub"
                 : "key in " + command.file + "; copy it to the other machine with a secure tool such as scp");
    return ExitCode::ok;
}

ExitCode send(Terminal& terminal, const StandardDescriptors& standard, const std::vector<std::string>& arguments) {
    SendCommand command;
    const bool json = wants_json(arguments);
    const auto parsed = parse_send_command(arguments, command);
    Log log("udtx-send", terminal, parsed ? command.common.verbosity() : Log::Verbosity::normal);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, json);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    if (const auto added = open_log(log, command.common); !added) {
        return finish_early(log, ExitCode::file_io, added.error().message, json);
    }
    if (command.streaming() && standard.was_closed(STDIN_FILENO)) {
        return finish_early(log, ExitCode::file_io, "standard input is closed: give '-' a file or a pipe to read",
                            json);
    }
    if (const auto split = split_sources(command, log); !split) {
        return finish_early(log, exit_code_for(split.error().code), split.error().message, json);
    }
    if (!command.common.rate.is_infinite()) log.info(describe_rate_cap(command.common.rate));
    SignalWaiter signals;
    const SendRun run{command, log, terminal, signals};
    if (command.probe_only) return show_probe(run, probe_path(run, ProbeLoad::full));
    return show(run, run_sender(run, [](const SendRun& r, const FinalReport& f) { leave(r, f); }));
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
            return static_cast<int>(send_by_bootstrap({arguments.begin() + 1, arguments.end()}));
        }
        if (!arguments.empty() && arguments.front() == "keygen") {
            arguments.erase(arguments.begin());
            Log log("udtx-send", terminal, Log::Verbosity::normal);
            return static_cast<int>(keygen(log, std::move(arguments)));
        }
        if (!arguments.empty() && arguments.front() == "plan") {
            Log log("udtx-send", terminal, Log::Verbosity::normal);
            return static_cast<int>(run_plan(log, {arguments.begin() + 1, arguments.end()}));
        }
        if (!arguments.empty() && arguments.front() == "doctor") {
            return static_cast<int>(run_doctor(terminal, {arguments.begin() + 1, arguments.end()}));
        }
        if (!arguments.empty() && arguments.front() == "ctl") {
            Log log("udtx-send", terminal, Log::Verbosity::normal);
            return static_cast<int>(run_ctl(log, "udtx-send", {arguments.begin() + 1, arguments.end()}));
        }
        return static_cast<int>(send(terminal, standard, arguments));
    } catch (const std::system_error& e) {
        // The system refuses a thread. This is not an error of the program.
        std::cerr << "udtx-send: " << e.what() << '\n';
        return static_cast<int>(ExitCode::network);
    } catch (const std::bad_alloc&) {
        std::cerr << "udtx-send: out of memory\n";
        return static_cast<int>(ExitCode::file_io);
    } catch (const std::exception& e) {
        std::cerr << "udtx-send: " << e.what() << '\n';
        return static_cast<int>(ExitCode::protocol);
    }
}
