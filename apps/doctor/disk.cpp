#include "doctor/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <random>
#include <span>
#include <system_error>

#include "common/text.hpp"
#include "common/units.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
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

}  // namespace udtx::apps
