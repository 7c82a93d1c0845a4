#include "doctor/host.hpp"

#ifdef __linux__
#include <sys/timex.h>
#endif

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "common/units.hpp"
#include "doctor/disk.hpp"
#include "doctor/network.hpp"
#include "observe/output.hpp"
#include "udtx/diagnosis.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
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
