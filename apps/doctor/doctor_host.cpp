#include <fcntl.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/timex.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <random>
#include <span>
#include <system_error>
#include <thread>

#include "base/page_block.hpp"
#include "common/units.hpp"
#include "doctor/doctor.hpp"
#include "io/monotonic_clock.hpp"
#include "openssl/cipher_speed.hpp"
#include "openssl/provider.hpp"
#include "os/unique_fd.hpp"

namespace udtx::apps {
namespace {

constexpr std::size_t kBlock = 1U << 20U;
constexpr std::uint64_t kMostBytes = 256U << 20U;
constexpr Duration kMostTime = std::chrono::seconds(2);
constexpr Duration kSlowTimer = std::chrono::milliseconds(1);

std::string first_line(const char* path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

/// How late a sleep of a millisecond ends, mostly.
Duration timer_lateness() {
    constexpr Duration kSleep = std::chrono::milliseconds(1);
    std::array<Duration, 21> late{};
    for (Duration& d : late) {
        const Instant before = io::monotonic_now();
        std::this_thread::sleep_for(kSleep);
        d = io::monotonic_now() - before - kSleep;
    }
    std::nth_element(late.begin(), late.begin() + late.size() / 2, late.end());
    return late[late.size() / 2];
}

std::string speed_text(const char* what, std::uint64_t bytes, Duration time) {
    return std::string(what) + " " + format_byte_rate(Rate::from_bytes(bytes, std::max(time, Duration(1))));
}

/// Calls `step(offset)`, a block each time, until enough was done; the bytes, or the first errno as a negative number.
template <class Step>
std::int64_t repeat(std::uint64_t most, Step&& step) {
    const Instant start = io::monotonic_now();
    std::uint64_t done = 0;
    while (done < most && io::monotonic_now() - start < kMostTime) {
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

std::vector<Finding> examine_clock() {
    std::vector<Finding> findings;
    const Duration late = timer_lateness();
    findings.push_back({late < kSlowTimer, "timers: a sleep of 1 ms ends " + format_milliseconds(late) + " late",
                        late < kSlowTimer ? "" : "the machine is busy, or its processors sleep deeply"});
#ifdef __linux__
    const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const bool slow = source == "hpet" || source == "acpi_pm" || source == "jiffies";
    if (!source.empty()) {
        findings.push_back({!slow, "clock source: " + source,
                            slow ? "reading the time is slow; mend with: echo tsc | sudo tee "
                                   "/sys/devices/system/clocksource/clocksource0/current_clocksource"
                                 : ""});
    }
    timex state{};
    const bool known = ::adjtimex(&state) >= 0;
    if (known) {
        const bool synchronised = (state.status & STA_UNSYNC) == 0;
        findings.push_back(
            {synchronised, std::string("clock: ") + (synchronised ? "" : "not ") + "synchronised",
             synchronised ? ""
                          : "times in logs will not fit the other host's; mend with: sudo timedatectl set-ntp true"});
    }
#endif
    return findings;
}

std::vector<Finding> examine_crypto() {
    openssl::OpensslProvider provider;
    const auto speed = openssl::measure_cipher_speed(provider, io::monotonic_now, std::chrono::milliseconds(60));
    const auto text = [](double bytes_per_second) { return format_rate(Rate::bytes_per_second(bytes_per_second)); };
    const bool good = openssl::has_aes_instructions() || speed.chacha20 > 0.5e9;
    return {
        {good,
         "encryption, one processor: AES-256-GCM " + text(speed.aes_gcm) + ", ChaCha20-Poly1305 " +
             text(speed.chacha20),
         good
             ? ""
             : "this processor, or its virtual machine, has no instructions for AES: let the hypervisor pass them on"}};
}

std::vector<Finding> examine_disk(const std::string& directory) {
    std::string name = directory + "/.udtx-doctor-XXXXXX";
    const UniqueFd fd(::mkstemp(name.data()));
    if (!fd) return {unwritable(directory, errno)};
    ::unlink(name.c_str());
    const PageBlock memory = make_page_block(kBlock);
    const std::span block(memory.get(), kBlock);
    // Zeros are nothing to a disk that compresses.
    std::minstd_rand random(1);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random());
    Instant start = io::monotonic_now();
    const std::int64_t written =
        repeat(kMostBytes, [&](off_t at) { return ::pwrite(fd.get(), block.data(), block.size(), at); });
    if (written < 0) return {unwritable(directory, static_cast<int>(-written))};
    const bool synced = ::fdatasync(fd.get()) == 0;
    const Duration write_time = io::monotonic_now() - start;
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    start = io::monotonic_now();
    const std::int64_t read = repeat(static_cast<std::uint64_t>(written),
                                     [&](off_t at) { return ::pread(fd.get(), block.data(), block.size(), at); });
    const Duration read_time = io::monotonic_now() - start;
    if (!synced || read < 0) return {unwritable(directory, errno)};
    return {{true,
             "disk of " + directory + ": " + speed_text("writes", static_cast<std::uint64_t>(written), write_time) +
                 " with sync, " + speed_text("reads", static_cast<std::uint64_t>(read), read_time) +
                 " (of what may be in memory)",
             ""}};
}

}  // namespace udtx::apps
