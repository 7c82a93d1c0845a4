#include "doctor/run_doctor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/text.hpp"
#include "doctor/between.hpp"
#include "doctor/host.hpp"
#include "observe/output.hpp"
#include "options/send_command.hpp"
#include "send/probe.hpp"
#include "ssh/exit_status.hpp"
#include "ssh/ssh_child.hpp"
#include "ssh/ssh_command.hpp"

namespace udtx::apps {
namespace {

constexpr const char* kProgram = "udtx-recv";
constexpr std::chrono::milliseconds kSoon{2000};

/// True for HOST:PORT or a URL, which name a running receiver. Anything else is a host name for ssh.
bool is_receiver(const std::string& host) {
    if (looks_like_url(host)) return true;
    const std::size_t colon = host.rfind(':');
    return colon != std::string::npos && colon + 1 < host.size() &&
           host.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

/// The host as an ssh destination with a path.
std::string ssh_place(const std::string& host) { return looks_like_ssh(host) ? host : host + ":"; }
std::string url_of(const std::string& host) { return looks_like_url(host) ? host : "udtx://" + host + "/"; }

Result<void> check_host(const std::string& host) {
    const bool good = is_receiver(host) ? parse_url(url_of(host)).ok()
                                        : looks_like_ssh(ssh_place(host)) && parse_ssh_target(ssh_place(host)).ok();
    if (good) return {};
    return Error{ErrorCode::invalid_argument, "HOST '" + host +
                                                  "' is neither [USER@]HOST[:DIR], for ssh, nor HOST:PORT or "
                                                  "udtx://HOST:PORT of a udtx-recv that listens"};
}

struct FarEnd {
    std::string text;  ///< as the remote end printed it
    ExitCode code = ExitCode::ok;
};

/// The findings of the remote end about itself.
Result<FarEnd> ask_far_end(const DoctorCommand& command, const SshOptions& ssh, const SshTarget& target,
                           Terminal& terminal) {
    std::string rest = " doctor";
    if (command.json) rest += " --json";
    if (!target.path.empty()) rest += " --dir " + quoted_for_shell(target.path);
    SignalWaiter signals;
    auto child = SshChild::start(
        ssh_command(ssh, target, AddressChoice::any, remote_line(ssh, kProgram, rest)),
        {[&terminal](std::string_view line) { terminal.line(escape_message(line)); }, [&signals] { signals.wake(); }});
    if (!child) return child.error();
    std::string text;
    while (!(*child)->ended()) {
        while (const auto line = (*child)->next_line()) text += escape_message(*line) + "\n";
        if (!(*child)->ended() && signals.wait(SignalWaiter::kTurn))
            return Error{ErrorCode::interrupted, "interrupted before " + target.host + " had answered"};
    }
    const int status = (*child)->finish(kSoon);
    const bool told = status == 0 || status == static_cast<int>(ExitCode::file_io);
    if (told && !text.empty()) return FarEnd{std::move(text), static_cast<ExitCode>(status)};
    if (status == kSshFailed)
        return Error{ErrorCode::network,
                     "ssh could not connect to " + target.host + "; try: " + login_command(ssh, target)};
    if (status == kCommandNotFound) return Error{ErrorCode::protocol, not_found(ssh, target, kProgram)};
    return Error{ErrorCode::protocol, "'" + remote_name(ssh, kProgram) + rest + "' on " + target.host +
                                          " ended with code " + std::to_string(status) +
                                          "; is the same version of udtx there?"};
}

ExitCode examine_both_ends(Log& log, Terminal& terminal, const DoctorCommand& command, const SendCommand& path) {
    const SshTarget& target = *path.remote;
    const std::vector<Finding> here = examine_host(command);
    const auto far = ask_far_end(command, path.ssh, target, terminal);
    if (!far) {
        log.error(far.error().message);
        const ExitCode code = exit_code_for(far.error().code);
        return print_output(
            log,
            command.json ? "{\"host\":" + findings_json(here) + ",\"far\":null}\n" : "here:\n" + findings_text(here),
            code);
    }
    SignalWaiter signals;
    const PathProbe probe = probe_path({path, log, terminal, signals}, ProbeLoad::gentle);
    terminal.clear_status();
    const std::vector<Finding> between = examine_between(probe, target.host, path.ssh.udp_ports);
    ExitCode code = code_of(here);
    if (code == ExitCode::ok) code = far->code;
    if (code == ExitCode::ok) code = code_of(between);
    if (command.json) {
        return print_output(log,
                            "{\"host\":" + findings_json(here) +
                                ",\"far\":" + far->text.substr(0, far->text.find('\n')) +
                                ",\"between\":" + findings_json(between) + ",\"path\":" + to_json(probe) + "}\n",
                            code);
    }
    std::string text = "here:\n" + findings_text(here) + "on " + target.host + ":\n" + far->text;
    text += "in between:\n" + findings_text(between);
    for (const std::string& line : describe(probe)) text += "      " + line + "\n";
    return print_output(log, text, code);
}

ExitCode examine_path(Log& log, Terminal& terminal, const DoctorCommand& command, const SendCommand& path) {
    const std::vector<Finding> findings = examine_host(command);
    SignalWaiter signals;
    const SendRun run{path, log, terminal, signals};
    const PathProbe probe = probe_path(run, ProbeLoad::gentle);
    ExitCode code = code_of(findings);
    if (!command.json) {
        code = print_output(log, findings_text(findings), code);
        const ExitCode probed = show_probe(run, probe);
        return code == ExitCode::ok ? probed : code;
    }
    if (code == ExitCode::ok && probe.error) code = exit_code_for(probe.error->code);
    return print_output(log, "{\"host\":" + findings_json(findings) + ",\"path\":" + to_json(probe) + "}\n", code);
}

}  // namespace

ExitCode run_doctor(Terminal& terminal, std::vector<std::string> arguments) {
    Log log("udtx-send", terminal, Log::Verbosity::normal);
    DoctorCommand command;
    const auto parsed = parse_doctor(std::move(arguments), true, command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    if (command.host.empty()) return show_host(log, command);
    if (const auto checked = check_host(command.host); !checked) {
        return finish_early(log, ExitCode::usage, checked.error().message, false);
    }
    SendCommand path;
    std::vector<std::string> flags = command.for_host;
    if (is_receiver(command.host)) {
        flags.insert(flags.end(), {"--probe-only", url_of(command.host)});
    } else {
        flags = command.ssh.as_flags();
        flags.insert(flags.end(), command.for_host.begin(), command.for_host.end());
        flags.insert(flags.end(), {"--probe-only", "--", ssh_place(command.host)});
    }
    const auto understood = parse_send_command(flags, path);
    if (!understood) return finish_early(log, ExitCode::usage, understood.error().message, false);
    return path.remote ? examine_both_ends(log, terminal, command, path) : examine_path(log, terminal, command, path);
}

}  // namespace udtx::apps
