#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/process.hpp"
#include "common/units.hpp"
#include "control/control.hpp"
#include "doctor/doctor.hpp"
#include "receive/receive.hpp"
#include "rendezvous/relay_run.hpp"
#include "serve/server_run.hpp"

namespace udtx::apps {
namespace {

constexpr const char* kTool = "udtx-recv";

ExitCode show_end(const RecvCommand& command, const Run& run, FinalReport report) {
    run.terminal.clear_status();
    // A long-running receiver has already reported each transfer.
    if (command.one_off || !report.error.empty()) {
        FinalReport last = report;
        if (!command.one_off) {
            last.outcome.warnings.clear();
            last.outcome.failed.clear();
        }
        show(command, run, last, {}, false);
    }
    check_log(run.log, report);
    check_listing(run.log, report);
    if (!command.common.json) return report.code;
    if (!command.streaming) return print_output(run.log, to_json(report) + "\n", report.code);
    run.terminal.line(to_json(report));
    return report.code;
}

Result<Relay::Options> relay_options(const RecvCommand& command) {
    Relay::Options options;
    if (!command.listen.empty()) {
        auto where = parse_host_port(command.listen);
        if (!where) return where.error();
        options.listen = std::move(*where);
    }
    options.budget.total_rate = command.max_rate;
    options.budget.pair_rate = command.relay_rate.value_or(options.budget.pair_rate);
    options.budget.sessions = command.relay_sessions.value_or(options.budget.sessions);
    options.budget.pair_time = command.relay_time.value_or(options.budget.pair_time);
    options.budget.claim_time = std::min(options.budget.claim_time, options.budget.pair_time);
    return options;
}

ExitCode serve_relay(const RecvCommand& command, Log& log) {
    SignalWaiter signals;
    auto options = relay_options(command);
    if (!options) return finish_early(log, options.error(), false);
    const auto served = run_relay(std::move(*options), command.sandbox, log, signals);
    return served ? ExitCode::ok : finish_early(log, served.error(), false);
}

ExitCode receive(Terminal& terminal, const StandardDescriptors& standard, const std::vector<std::string>& arguments) {
    RecvCommand command;
    const auto parsed = parse_recv_command(arguments, command);
    Log log(kTool, terminal, parsed ? command.common.verbosity() : Log::Verbosity::normal);
    const bool json = wants_json(arguments);
    if (const auto code = stop_early(log, parsed, json)) return *code;
    if (const auto opened = open_log(log, command.common); !opened) return finish_early(log, opened.error(), json);
    if (command.relay) return serve_relay(command, log);
    if (command.streaming && standard.was_closed(STDOUT_FILENO)) {
        return finish_early(log, ExitCode::file_io, "standard output is closed: give '-' a file or a pipe to write",
                            false);
    }
    if (!command.common.rate.is_infinite()) log.info(describe_rate_cap(command.common.rate));
    SignalWaiter signals;
    Run run{log, terminal, signals};
    run.leave = [&](const FinalReport& report) { _exit(static_cast<int>(show_end(command, run, report))); };
    return show_end(command, run, command.pulls() ? run_pull(command, run) : run_receiver(command, run));
}

}  // namespace
}  // namespace udtx::apps

int main(int argc, char** argv) {
    using namespace udtx::apps;
    const StandardDescriptors standard;
    return run_tool(kTool, argc, argv,
                    [&](Terminal& terminal, const std::string& word, std::vector<std::string> arguments) {
                        Log log(kTool, terminal, Log::Verbosity::normal);
                        if (word == "--bootstrap") return receive_by_bootstrap(arguments);
                        if (word == "verify") return run_verify(log, std::move(arguments));
                        if (word == "receipt") return run_receipt(log, std::move(arguments));
                        if (word == "clean") return run_clean(log, std::move(arguments));
                        if (word == "doctor") return run_doctor(log, terminal, kTool, std::move(arguments));
                        if (word == "ctl") return run_ctl(log, kTool, std::move(arguments));
                        if (argc > 1) arguments.insert(arguments.begin(), word);
                        return receive(terminal, standard, arguments);
                    });
}
