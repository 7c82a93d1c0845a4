#include "doctor/doctor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "options/subcommands.hpp"
#include "ssh/remote_end.hpp"
#include "ssh/ssh_child.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/diagnosis.hpp"
#include "udtx/system.hpp"

#ifdef __linux__
#include <sys/timex.h>
#endif

namespace udtx::apps {
namespace {

/// The first code that is not ok.
ExitCode code_of(const std::vector<Finding>& findings) {
    const auto failed = [](const Finding& finding) { return finding.code != ExitCode::ok; };
    const auto first = std::find_if(findings.begin(), findings.end(), failed);
    return first == findings.end() ? ExitCode::ok : first->code;
}

std::string findings_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += (finding.good ? "good  " : "FIX   ") + finding.what + "\n";
        if (!finding.remedy.empty()) text += "      " + finding.remedy + "\n";
    }
    return text;
}

Json findings_json(const std::vector<Finding>& findings) {
    return Json::array(findings, [](const Finding& finding) {
        return Json::object({{"good", finding.good}, {"what", finding.what}, {"remedy", finding.remedy}});
    });
}

/// `remedy` counts only if something is wrong.
Finding judged(bool good, std::string what, std::string remedy) {
    return {.good = good, .what = std::move(what), .remedy = good ? std::string() : std::move(remedy)};
}

constexpr unsigned kLeastMtu = 1280;

Finding examine_buffers(const UdpSupport& udp) {
    const auto kib = [](std::size_t bytes) { return format_count(bytes / 1024) + " KiB"; };
    return judged(udp.buffer_commands.empty(),
                  "UDP buffers: receive " + kib(udp.receive_buffer) + ", send " + kib(udp.send_buffer),
                  "fix with: sudo " + udp.buffer_commands);
}

Finding examine_offload(bool good, const char* what) {
    return judged(good, std::string(what) + (good ? ": the kernel has it" : ": the kernel does not have it"),
                  "use Linux 5.0 or later; without it one processor reaches about 2 Gbit/s");
}

void examine_interfaces(std::vector<Finding>& findings) {
    std::error_code none;
    for (std::filesystem::directory_iterator at("/sys/class/net", none), end; at != end; at.increment(none)) {
        const std::filesystem::path path = at->path();
        const std::string name = path.filename().string();
        std::ifstream state_file(path / "operstate");
        std::string state;
        state_file >> state;
        const auto mtu = mtu_of(name);
        if (!mtu || state == "down") continue;
        Finding finding = judged(*mtu >= kLeastMtu, "MTU of " + name + ": " + std::to_string(*mtu),
                                 "udtx needs 1280; fix with: sudo ip link set " + name + " mtu 1500");
        if (finding.good && *mtu < kUsualMtu) finding.what += " (less than usual: a tunnel?)";
        findings.push_back(std::move(finding));
    }
}

std::vector<Finding> examine_network() {
    std::vector<Finding> findings;
    const auto udp = examine_udp();
    if (!udp) return {{.good = false, .what = udp.error().message}};
    findings.push_back(examine_buffers(*udp));
#ifdef __linux__
    findings.push_back(examine_offload(udp->segmentation_offload, "UDP segmentation offload (GSO)"));
    findings.push_back(examine_offload(udp->receive_offload, "UDP receive offload (GRO)"));
    examine_interfaces(findings);
#endif
    return findings;
}

constexpr std::uint64_t kMostBytes = 256U << 20U;
constexpr Duration kMostTime = std::chrono::seconds(2);

/// Aligned to a page, because the kernel copies that fastest.
struct alignas(4096) Block {
    std::array<std::byte, 1U << 20U> bytes;
};

std::string speed_text(const char* what, std::uint64_t bytes, Duration time) {
    return std::string(what) + " " + format_byte_rate(Rate::from_bytes(bytes, std::max(time, Duration(1))));
}

/// Calls `step(offset)` once per block until enough is done. Returns the bytes, or the first errno as a negative
/// number.
template <class Step>
std::int64_t repeat(std::uint64_t most, Step&& step) {
    const Instant start = monotonic_now();
    std::uint64_t done = 0;
    while (done < most && monotonic_now() - start < kMostTime) {
        const ssize_t n = step(static_cast<off_t>(done));
        if (n < 0) return -errno;
        if (n == 0) break;
        done += static_cast<std::uint64_t>(n);
    }
    return static_cast<std::int64_t>(done);
}

Finding unwritable(const std::string& directory, int error) {
    const bool missing = error == ENOENT || error == ENOTDIR;
    return {.good = false,
            .what = "disk of " + directory + ": cannot be written: " + std::generic_category().message(error),
            .remedy =
                missing ? "name a directory that exists with --dir, or make it: mkdir -p " + quoted_for_shell(directory)
                        : "make room, or let this user write there",
            .code = ExitCode::file_io};
}

/// Measures the speed of a directory's disk, or reports why writing fails. Writes and reads a temporary file for a few
/// seconds at most.
std::vector<Finding> examine_disk(const std::string& directory) {
    std::string name = directory + "/.udtx-doctor-XXXXXX";
    const UniqueFd fd(::mkstemp(name.data()));
    if (!fd) return {unwritable(directory, errno)};
    ::unlink(name.c_str());
    const auto memory = std::make_unique<Block>();
    const std::span block(memory->bytes);
    // A disk that compresses would store zeros without work.
    std::minstd_rand random(1);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random());
    Instant start = monotonic_now();
    const std::int64_t written =
        repeat(kMostBytes, [&](off_t at) { return ::pwrite(fd.get(), block.data(), block.size(), at); });
    if (written < 0) return {unwritable(directory, static_cast<int>(-written))};
    const bool synced = ::fdatasync(fd.get()) == 0;
    const Duration write_time = monotonic_now() - start;
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    start = monotonic_now();
    const std::int64_t read = repeat(static_cast<std::uint64_t>(written),
                                     [&](off_t at) { return ::pread(fd.get(), block.data(), block.size(), at); });
    const Duration read_time = monotonic_now() - start;
    if (!synced || read < 0) return {unwritable(directory, errno)};
    return {{.what = "disk of " + directory + ": " +
                     speed_text("writes", static_cast<std::uint64_t>(written), write_time) + " with sync, " +
                     speed_text("reads", static_cast<std::uint64_t>(read), read_time) + " (perhaps from memory)"}};
}

/// Time for measuring each cipher.
constexpr std::chrono::milliseconds kCipherTime{60};
/// Above this rate a processor without AES instructions is still fast enough.
constexpr Rate kFastCipher = Rate::bytes_per_second(0.5e9);
constexpr Duration kSlowTimer = std::chrono::milliseconds(1);

std::string first_line(const char* path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

/// The median lateness of a sleep of one millisecond.
Duration timer_lateness() {
    constexpr Duration kSleep = std::chrono::milliseconds(1);
    std::array<Duration, 21> late{};
    for (Duration& d : late) {
        const Instant before = monotonic_now();
        std::this_thread::sleep_for(kSleep);
        d = monotonic_now() - before - kSleep;
    }
    std::nth_element(late.begin(), late.begin() + late.size() / 2, late.end());
    return late[late.size() / 2];
}

std::vector<Finding> examine_clock() {
    std::vector<Finding> findings;
    const Duration late = timer_lateness();
    findings.push_back(judged(late < kSlowTimer, "timers: a sleep of 1 ms ends " + format_milliseconds(late) + " late",
                              "the machine is busy, or its processors use deep sleep states"));
#ifdef __linux__
    const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const bool slow = source == "hpet" || source == "acpi_pm" || source == "jiffies";
    if (!source.empty()) {
        findings.push_back(judged(!slow, "clock source: " + source,
                                  "reading the time is slow; fix with: echo tsc | sudo tee "
                                  "/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    }
    timex state{};
    if (::adjtimex(&state) >= 0) {
        const bool synchronised = (state.status & STA_UNSYNC) == 0;
        findings.push_back(
            judged(synchronised, std::string("clock: ") + (synchronised ? "" : "not ") + "synchronised",
                   "timestamps in logs differ from those of the other host; fix with: sudo timedatectl set-ntp true"));
    }
#endif
    return findings;
}

std::vector<Finding> examine_crypto() {
    const CipherSpeeds speeds = measure_ciphers(kCipherTime);
    const bool good = speeds.aes_instructions || speeds.chacha20_poly1305 > kFastCipher;
    return {
        judged(good,
               "encryption, one processor: AES-256-GCM " + format_rate(speeds.aes_256_gcm) + ", ChaCha20-Poly1305 " +
                   format_rate(speeds.chacha20_poly1305),
               "this processor, or its virtual machine, has no instructions for AES: let the hypervisor pass them on")};
}

std::vector<Finding> examine_host(const DoctorCommand& command) {
    std::vector<Finding> all = examine_network();
    const auto add = [&all](std::vector<Finding> more) {
        for (Finding& finding : more) all.push_back(std::move(finding));
    };
    add(examine_clock());
    add(examine_crypto());
    add(examine_disk(command.directory));
    return all;
}

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
    Finding finding{.good = false, .what = probe.error->message, .code = code};
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

Finding largest_packet(const PathStats& path, const std::optional<LocalInterface>& interface) {
    const bool v6 = path.remote.family == Address::Family::v6;
    const unsigned mtu = path.datagram_bytes + (v6 ? 48 : 28);
    Finding finding{.good = mtu >= kTunnelMtu,
                    .what = "path MTU: " + std::to_string(mtu) + " (datagrams of " + format_count(path.datagram_bytes) +
                            " bytes pass)"};
    if (finding.good) return finding;
    if (interface && interface->mtu < kTunnelMtu && interface->mtu <= mtu + kSearchStep) {
        finding.what += ", the MTU of " + interface->name + " here is " + format_count(interface->mtu);
        finding.remedy = "raise it, unless it is a tunnel over a link with this limit: sudo ip link set " +
                         interface->name + " mtu " + std::to_string(kUsualMtu);
        return finding;
    }
    finding.what += ", larger packets are lost on the path";
    finding.remedy = "raise the MTU of the tunnel on the path: sudo ip link set DEV mtu " + std::to_string(kUsualMtu) +
                     "; a firewall there should let ICMP \"packet too big\" through";
    return finding;
}

Finding clocks(Duration ahead, const std::string& host) {
    const Duration apart = std::chrono::abs(ahead);
    if (apart < kClocksApart) return {.what = "clocks: less than 1 s apart"};
    return {.good = false,
            .what = "clocks: that of " + host + " is " + format_elapsed(apart) +
                    (ahead > Duration() ? " ahead" : " behind"),
            .remedy = "fix on the host whose clock is wrong with: sudo timedatectl set-ntp true"};
}

}  // namespace

std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports) {
    std::vector<Finding> findings;
    if (probe.error) {
        findings.push_back(blocked(probe, host, ports));
    } else if (probe.handshake) {
        findings.push_back({.what = "UDP passes both ways: handshake " + format_milliseconds(*probe.handshake)});
    }
    if (!probe.error && probe.stats && !probe.stats->paths.empty()) {
        findings.push_back(largest_packet(probe.stats->paths.front(), probe.interface));
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

/// Only UDP, so that its faults are not hidden by another way.
SendCommand over_udp(SendCommand path) {
    path.carriers.only = CarrierFlags::Only::udp;
    return path;
}

/// The way that is used where UDP does not pass.
Finding examine_other_way(SendCommand path, const Run& run) {
    const bool ssh = path.remote.has_value();
    path.carriers.only = ssh ? CarrierFlags::Only::ssh : CarrierFlags::Only::tcp;
    const std::string name = ssh ? "the connection of ssh" : "TCP";
    const PathProbe probe = probe_path(path, run, ProbeLoad::touch);
    run.terminal.clear_status();
    if (!probe.error) {
        return {.what = name + " passes, for networks without UDP" +
                        (probe.handshake ? ": handshake " + format_milliseconds(*probe.handshake) : std::string())};
    }
    return {.good = false,
            .what = name + " does not pass: " + probe.error->message,
            .remedy = ssh ? "transfers need UDP there; is the same version of udtx on both ends?"
                          : "transfers need UDP there; open the TCP port of the server in its firewall, or let it "
                            "listen on port 443 with --tcp-listen :443"};
}

ExitCode examine_both_ends(Log& log, Terminal& terminal, const DoctorCommand& command, const SendCommand& path) {
    const SshTarget& target = *path.remote;
    const std::vector<Finding> here = examine_host(command);
    const auto far = ask_far_end(command, path.ssh, target, terminal);
    if (!far) {
        log.error(far.error().message);
        const ExitCode code = exit_code_for(far.error().code);
        return print_output(log,
                            command.json ? Json::object({{"host", findings_json(here)}, {"far", nullptr}}).text() + "\n"
                                         : "here:\n" + findings_text(here),
                            code);
    }
    SignalWaiter signals;
    const Run run{log, terminal, signals};
    const PathProbe probe = probe_path(over_udp(path), run, ProbeLoad::gentle);
    terminal.clear_status();
    std::vector<Finding> between = examine_between(probe, target.host, path.ssh.udp_ports);
    between.push_back(examine_other_way(path, run));
    ExitCode code = code_of(here);
    if (code == ExitCode::ok) code = far->code;
    if (code == ExitCode::ok) code = code_of(between);
    if (command.json) {
        return print_output(log,
                            Json::object({{"host", findings_json(here)},
                                          {"far", Json::ready(far->text.substr(0, far->text.find('\n')))},
                                          {"between", findings_json(between)},
                                          {"path", to_json(probe)}})
                                    .text() +
                                "\n",
                            code);
    }
    std::string text = "here:\n" + findings_text(here) + "on " + target.host + ":\n" + far->text;
    text += "in between:\n" + findings_text(between);
    for (const std::string& line : describe(probe)) text += "      " + line + "\n";
    return print_output(log, text, code);
}

ExitCode examine_path(Log& log, Terminal& terminal, const DoctorCommand& command, const SendCommand& path) {
    std::vector<Finding> findings = examine_host(command);
    SignalWaiter signals;
    const Run run{log, terminal, signals};
    const PathProbe probe = probe_path(over_udp(path), run, ProbeLoad::gentle);
    findings.push_back(probe.error ? Finding{.good = false, .what = "UDP does not pass: " + probe.error->message}
                                   : Finding{.what = "UDP passes both ways"});
    findings.push_back(examine_other_way(path, run));
    ExitCode code = code_of(findings);
    if (!command.json) {
        code = print_output(log, findings_text(findings), code);
        const ExitCode probed = show_probe(run, probe, false);
        return code == ExitCode::ok ? probed : code;
    }
    if (code == ExitCode::ok && probe.error) code = exit_code_for(probe.error->code);
    const Json json = Json::object({{"host", findings_json(findings)}, {"path", to_json(probe)}});
    return print_output(log, json.text() + "\n", code);
}

}  // namespace

ExitCode run_doctor(Log& log, Terminal& terminal, const std::string& tool, std::vector<std::string> arguments) {
    DoctorCommand command(tool);
    if (const auto code = stop_early(log, command.parse(std::move(arguments)), false)) return *code;
    const std::string host = command.host();
    if (host.empty()) {
        const std::vector<Finding> findings = examine_host(command);
        const std::string text =
            command.json ? Json::object({{"host", findings_json(findings)}}).text() + "\n" : findings_text(findings);
        return print_output(log, text, code_of(findings));
    }
    if (const auto checked = check_host(host); !checked) return finish_early(log, checked.error(), false);
    const bool receiver = is_receiver(host);
    std::vector<std::string> flags = receiver ? std::vector<std::string>() : command.ssh.as_flags();
    for (std::string& flag : command.for_host()) flags.push_back(std::move(flag));
    flags.insert(flags.end(), {"--probe-only", "--", receiver ? url_of(host) : ssh_place(host)});
    SendCommand path;
    if (const auto code = stop_early(log, parse_send_command(flags, path), false)) return *code;
    return path.remote ? examine_both_ends(log, terminal, command, path) : examine_path(log, terminal, command, path);
}

}  // namespace udtx::apps
