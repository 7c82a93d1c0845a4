#include "transfer/file/quirks/disk_times.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <random>
#include <utility>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

// The coarsest known steps are the two seconds of FAT.
constexpr std::int64_t kCoarsestStep = 2;
// Every file system stores the times between these two: FAT begins in 1980 (local time), and 32 bits of seconds end on
// 2038-01-19.
constexpr std::int64_t kAllHoldFrom = 315'619'200;     // 1980-01-02
constexpr std::int64_t kAllHoldUntil = 2'147'396'400;  // 2038-01-18
// A difference of less than a microsecond is not worth a warning.
constexpr std::uint32_t kWorthSaying = 1'000;
// The most mounts in one destination that have a probe.
constexpr std::size_t kMaxProbes = 16;

/// Whether a disk may make `have` of `wanted`. Does not ask the disk.
bool may_be_made_of(const FileTime& have, const FileTime& wanted) {
    if (wanted.seconds < kAllHoldFrom || wanted.seconds >= kAllHoldUntil) return true;
    // Known steps are not finer than 100 ns, so a time with finer digits was not rounded.
    if (have.nanoseconds % 100 != 0) return false;
    return have.seconds >= wanted.seconds - kCoarsestStep && have.seconds <= wanted.seconds + kCoarsestStep;
}

bool differs(const FileTime& a, const FileTime& b) {
    if (a.seconds != b.seconds) return true;
    const std::uint32_t apart =
        a.nanoseconds > b.nanoseconds ? a.nanoseconds - b.nanoseconds : b.nanoseconds - a.nanoseconds;
    return apart >= kWorthSaying;
}

FileTime time_of(int fd) {
    struct stat st = {};
    return ::fstat(fd, &st) == 0 ? mtime_of(st) : FileTime();
}

}  // namespace

void DiskTimes::close() {
    for (const auto& [device, probe] : probes_) {
        if (!probe.directory) continue;
        const bool alone = time_of(probe.directory.get()) == probe.after;
        ::unlinkat(probe.directory.get(), probe.name.c_str(), 0);
        if (alone) static_cast<void>(set_file_time(probe.directory.get(), probe.before));
    }
    probes_.clear();
}

bool DiskTimes::agree(int directory, const struct stat& st, const FileTime& wanted) {
    const FileTime have = mtime_of(st);
    if (have == wanted) return true;
    if (!may_be_made_of(have, wanted)) return false;
    const Probe& probe = probe_of(directory, st.st_dev);
    return probe.fd && set_file_time(probe.fd.get(), wanted) == 0 && time_of(probe.fd.get()) == have;
}

const DiskTimes::Probe& DiskTimes::probe_of(int directory, dev_t device) {
    static const Probe kNone;
    if (const auto known = probes_.find(device); known != probes_.end()) return known->second;
    if (probes_.size() >= kMaxProbes) return kNone;
    return probes_[device] = make_probe(directory);
}

DiskTimes::Probe DiskTimes::make_probe(int directory) {
    Probe out;
#ifdef O_TMPFILE
    out.fd.reset(open_entry(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (out.fd) return out;
#endif
    std::random_device random;
    out.name = temp_name((static_cast<std::uint64_t>(random()) << 32U) | random());
    UniqueFd parent(open_entry(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent) return out;
    out.before = time_of(parent.get());
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    out.fd.reset(open_entry(parent.get(), out.name.c_str(), kFlags, 0600));
    out.after = time_of(parent.get());
    if (out.fd) out.directory = std::move(parent);
    return out;
}

void LostTimes::look(int fd, const std::string& path, const FileTime& wanted) {
    struct stat st = {};
    if (::fstat(fd, &st) == 0) look(st, path, wanted);
}

void LostTimes::look(const struct stat& st, const std::string& path, const FileTime& wanted) {
    const FileTime got = mtime_of(st);
    if (!differs(got, wanted)) return;
    if (count_++ > 0) return;
    first_ = path;
    wanted_ = wanted;
    got_ = got;
}

std::string LostTimes::take() {
    const std::uint64_t count = std::exchange(count_, 0);
    if (count == 0) return {};
    return "the time of " + std::to_string(count) + (count == 1 ? " entry" : " entries") +
           " could not be preserved: the file system has " + to_text(got_) + " for " + to_text(wanted_) +
           (count == 1 ? ", '" : ", first '") + escape_name(first_) + "'";
}

std::string to_text(const FileTime& time) {
    constexpr std::int64_t kYear10000 = 253'402'300'800;
    constexpr std::int64_t kYear0 = -62'167'219'200;
    std::array<char, 64> fraction{};
    if (time.nanoseconds != 0) std::snprintf(fraction.data(), fraction.size(), ".%09u", time.nanoseconds);
    std::string digits = fraction.data();
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    if (time.seconds < kYear0 || time.seconds >= kYear10000)
        return std::to_string(time.seconds) + digits + " s since 1970";
    const auto seconds = static_cast<time_t>(time.seconds);
    std::tm parts{};
    std::array<char, 32> text{};
    ::gmtime_r(&seconds, &parts);
    std::snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d:%02d", (parts.tm_year + 1900) % 10000,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    return text.data() + digits + " UTC";
}

}  // namespace udtx::transfer
