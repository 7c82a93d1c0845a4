#include "doctor/doctor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "doctor/host.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "send/probe.hpp"
#include "ssh/remote_end.hpp"
#include "ssh/ssh_child.hpp"

namespace udtx::apps {
namespace {

/// Example ports if the user named none: the first of the range that mosh uses.
constexpr PortRange kExamplePorts{60000, 60010};
/// MTU that remains of kUsualMtu after the encapsulation of one tunnel.
constexpr unsigned kTunnelMtu = 1400;
constexpr unsigned kSearchStep = 32;  // bytes by which the search for the largest datagram may stay below the MTU
constexpr Duration kClocksApart = std::chrono::seconds(1);

std::string open_ports(PortRange ports) {
    const std::string first = std::to_string(ports.first);
    const std::string last = std::to_string(ports.last);
    return "sudo ufw allow " + first + ":" + last + "/udp, or sudo firewall-cmd --add-port=" + first + "-" + last +
           "/udp, or sudo nft insert rule inet filter input udp dport " + first + "-" + last +
           " accept, and in a cloud its security group; then give -O " + first + "-" + last;
}

Finding blocked(const PathProbe& probe, const std::string& host, PortRange ports) {
    const ExitCode code = exit_code_for(probe.error->code);
    Finding finding{false, probe.error->message, "", code};
    if (code != ExitCode::udp_blocked) return finding;
    if (!probe.heard) {
        finding.remedy = "fix on " + host + " with: " + open_ports(ports.first == 0 ? kExamplePorts : ports);
        return finding;
    }
    // This end cannot find out where answers are dropped, so each end must let its part through.
    const std::string answers = " ct state established,related accept";
    finding.remedy = "let answers out on " + host + " with: sudo nft insert rule inet filter output" + answers +
                     "; in here with: sudo nft insert rule inet filter input" + answers +
                     "; in a cloud by its security groups";
    return finding;
}

Finding largest_packet(const PathStats& path, const std::optional<LocalLink>& link) {
    const bool v6 = path.remote.family == Address::Family::v6;
    const unsigned mtu = path.datagram_bytes + (v6 ? 48 : 28);
    Finding finding{mtu >= kTunnelMtu, "path MTU: " + std::to_string(mtu) + " (datagrams of " +
                                           format_count(path.datagram_bytes) + " bytes pass)"};
    if (finding.good) return finding;
    if (link && link->mtu < kTunnelMtu && link->mtu <= mtu + kSearchStep) {
        finding.what += ", the MTU of " + link->name + " here is " + format_count(link->mtu);
        finding.remedy = "raise it, unless it is a tunnel over a link with this limit: sudo ip link set " + link->name +
                         " mtu " + std::to_string(kUsualMtu);
        return finding;
    }
    finding.what += ", larger packets are lost on the path";
    finding.remedy = "raise the MTU of the tunnel on the path: sudo ip link set DEV mtu " + std::to_string(kUsualMtu) +
                     "; a firewall there should let ICMP \"packet too big\" through";
    return finding;
}

Finding clocks(Duration ahead, const std::string& host) {
    const Duration apart = std::chrono::abs(ahead);
    if (apart < kClocksApart) return {true, "clocks: less than 1 s apart"};
    return {false,
            "clocks: that of " + host + " is " + format_elapsed(apart) + (ahead > Duration() ? " ahead" : " behind"),
            "fix on the host whose clock is wrong with: sudo timedatectl set-ntp true"};
}

}  // namespace

std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports) {
    std::vector<Finding> findings;
    if (probe.error) {
        findings.push_back(blocked(probe, host, ports));
    } else if (probe.handshake) {
        findings.push_back({true, "UDP passes both ways: handshake " + format_milliseconds(*probe.handshake)});
    }
    if (!probe.error && probe.stats && !probe.stats->paths.empty()) {
        findings.push_back(largest_packet(probe.stats->paths.front(), probe.link));
    }
    if (probe.clock_ahead) findings.push_back(clocks(*probe.clock_ahead, host));
    return findings;
}

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
