#include <unistd.h>

#include <cerrno>

#include "common/process.hpp"
#include "common/units.hpp"
#include "control/control.hpp"
#include "doctor/doctor.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "options/subcommands.hpp"
#include "send/probe.hpp"
#include "send/push.hpp"

namespace udtx::apps {
namespace {

constexpr const char* kTool = "udtx-send";

ExitCode show(const SendCommand& command, const Run& run, FinalReport report) {
    const CommonOptions& options = command.common;
    run.terminal.clear_status();
    show_report(run.log, report,
                {.from = {},
                 .verbose = options.verbose,
                 .stats = options.stats,
                 .transport = options.wants_details(run.terminal.is_tty())});
    check_log(run.log, report);
    check_listing(run.log, report);
    if (!options.json) return report.code;
    return print_output(run.log, to_json(report) + "\n", report.code);
}

ExitCode keygen(Log& log, std::vector<std::string> arguments) {
    KeygenCommand command;
    if (const auto code = stop_early(log, command.parse(std::move(arguments)), false)) return *code;
    const std::string& file = command.words.front();
    const auto made = command.identity ? Credentials::write_identity(file) : Credentials::write_psk_file(file);
    if (!made) {
        const bool wrong_name = made.error().system_error == EEXIST;
        return finish_early(log, wrong_name ? ExitCode::usage : exit_code_for(made.error().code), made.error().message,
                            false);
    }
    log.info(command.identity ? "private key in " + file + ", public key in " + file + ".pub"
                              : "key in " + file + "; copy it to the other machine with a secure tool such as scp");
    return ExitCode::ok;
}

ExitCode send(Terminal& terminal, const StandardDescriptors& standard, const std::vector<std::string>& arguments) {
    SendCommand command;
    const auto parsed = parse_send_command(arguments, command);
    Log log(kTool, terminal, parsed ? command.common.verbosity() : Log::Verbosity::normal);
    const bool json = wants_json(arguments);
    if (const auto code = stop_early(log, parsed, json)) return *code;
    if (const auto opened = open_log(log, command.common); !opened) return finish_early(log, opened.error(), json);
    if (command.streaming && standard.was_closed(STDIN_FILENO)) {
        return finish_early(log, ExitCode::file_io, "standard input is closed: give '-' a file or a pipe to read",
                            json);
    }
    if (const auto split = split_sources(command, log); !split) return finish_early(log, split.error(), json);
    if (!command.common.rate.is_infinite()) log.info(describe_rate_cap(command.common.rate));
    SignalWaiter signals;
    Run run{log, terminal, signals};
    run.leave = [&](const FinalReport& report) { _exit(static_cast<int>(show(command, run, report))); };
    if (command.probe_only) return show_probe(run, probe_path(command, run, ProbeLoad::full), command.common.json);
    return show(command, run, run_push(command, run));
}

}  // namespace
}  // namespace udtx::apps

int main(int argc, char** argv) {
    using namespace udtx::apps;
    const StandardDescriptors standard;
    return run_tool(kTool, argc, argv,
                    [&](Terminal& terminal, const std::string& word, std::vector<std::string> arguments) {
                        Log log(kTool, terminal, Log::Verbosity::normal);
                        if (word == "--bootstrap") return send_by_bootstrap(arguments);
                        if (word == "keygen") return keygen(log, std::move(arguments));
                        if (word == "plan") return run_plan(log, std::move(arguments));
                        if (word == "doctor") return run_doctor(log, terminal, kTool, std::move(arguments));
                        if (word == "ctl") return run_ctl(log, kTool, std::move(arguments));
                        if (argc > 1) arguments.insert(arguments.begin(), word);
                        return send(terminal, standard, arguments);
                    });
}
