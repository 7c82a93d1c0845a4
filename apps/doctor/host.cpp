#include "doctor/host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/diagnosis.hpp"
#include "udtx/monotonic_clock.hpp"

#ifdef __linux__
#include <sys/timex.h>
#endif

namespace udtx::apps {

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

std::string findings_json(const std::vector<Finding>& findings) {
    JsonWriter json;
    json.begin_array();
    for (const Finding& finding : findings) {
        json.begin_object().key("good").boolean(finding.good).key("what").string(finding.what);
        json.key("remedy").string(finding.remedy).end_object();
    }
    json.end_array();
    return json.text();
}

namespace {

constexpr unsigned kLeastMtu = 1280;

Finding examine_buffers(const UdpSupport& udp) {
    const auto kib = [](std::size_t bytes) { return format_count(bytes / 1024) + " KiB"; };
    return {udp.buffer_commands.empty(),
            "UDP buffers: receive " + kib(udp.receive_buffer) + ", send " + kib(udp.send_buffer),
            udp.buffer_commands.empty() ? "" : "fix with: sudo " + udp.buffer_commands};
}

Finding examine_offload(bool good, const char* what) {
    return {good, std::string(what) + (good ? ": the kernel has it" : ": the kernel does not have it"),
            good ? "" : "use Linux 5.0 or later; without it one processor reaches about 2 Gbit/s"};
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
        Finding finding{*mtu >= kLeastMtu, "MTU of " + name + ": " + std::to_string(*mtu), ""};
        if (!finding.good) finding.remedy = "udtx needs 1280; fix with: sudo ip link set " + name + " mtu 1500";
        if (finding.good && *mtu < kUsualMtu) finding.what += " (less than usual: a tunnel?)";
        findings.push_back(std::move(finding));
    }
}

}  // namespace

std::vector<Finding> examine_network() {
    std::vector<Finding> findings;
    const auto udp = examine_udp();
    if (!udp) return {{false, udp.error().message, ""}};
    findings.push_back(examine_buffers(*udp));
#ifdef __linux__
    findings.push_back(examine_offload(udp->segmentation_offload, "UDP segmentation offload (GSO)"));
    findings.push_back(examine_offload(udp->receive_offload, "UDP receive offload (GRO)"));
    examine_interfaces(findings);
#endif
    return findings;
}

namespace {

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
    return {false, "disk of " + directory + ": cannot be written: " + std::generic_category().message(error),
            missing ? "name a directory that exists with --dir, or make it: mkdir -p " + quoted_for_shell(directory)
                    : "make room, or let this user write there",
            ExitCode::file_io};
}

}  // namespace

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
    return {{true,
             "disk of " + directory + ": " + speed_text("writes", static_cast<std::uint64_t>(written), write_time) +
                 " with sync, " + speed_text("reads", static_cast<std::uint64_t>(read), read_time) +
                 " (perhaps from memory)",
             ""}};
}

namespace {

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
    findings.push_back({late < kSlowTimer, "timers: a sleep of 1 ms ends " + format_milliseconds(late) + " late",
                        late < kSlowTimer ? "" : "the machine is busy, or its processors use deep sleep states"});
#ifdef __linux__
    const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const bool slow = source == "hpet" || source == "acpi_pm" || source == "jiffies";
    if (!source.empty()) {
        findings.push_back({!slow, "clock source: " + source,
                            slow ? "reading the time is slow; fix with: echo tsc | sudo tee "
                                   "/sys/devices/system/clocksource/clocksource0/current_clocksource"
                                 : ""});
    }
    timex state{};
    const bool known = ::adjtimex(&state) >= 0;
    if (known) {
        const bool synchronised = (state.status & STA_UNSYNC) == 0;
        findings.push_back(
            {synchronised, std::string("clock: ") + (synchronised ? "" : "not ") + "synchronised",
             synchronised
                 ? ""
                 : "timestamps in logs differ from those of the other host; fix with: sudo timedatectl set-ntp true"});
    }
#endif
    return findings;
}

std::vector<Finding> examine_crypto() {
    const CipherSpeeds speeds = measure_ciphers(kCipherTime);
    const bool good = speeds.aes_instructions || speeds.chacha20_poly1305 > kFastCipher;
    return {
        {good,
         "encryption, one processor: AES-256-GCM " + format_rate(speeds.aes_256_gcm) + ", ChaCha20-Poly1305 " +
             format_rate(speeds.chacha20_poly1305),
         good
             ? ""
             : "this processor, or its virtual machine, has no instructions for AES: let the hypervisor pass them on"}};
}

}  // namespace

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

ExitCode show_host(Log& log, const DoctorCommand& command) {
    const std::vector<Finding> findings = examine_host(command);
    const std::string text = command.json ? "{\"host\":" + findings_json(findings) + "}\n" : findings_text(findings);
    return print_output(log, text, code_of(findings));
}

}  // namespace udtx::apps
