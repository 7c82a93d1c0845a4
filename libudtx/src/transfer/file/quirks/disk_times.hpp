// Finds out what a file system makes of a time. Some store only steps of one or two seconds, some begin in 1980 or end
// in 2038, and none reports that it stored another time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

struct stat;

namespace udtx::transfer {

/// Decides whether a stored time is what the disk makes of a wanted time. If that is possible, it sets the wanted time
/// on a probe file and compares. For the writer's thread.
class DiskTimes {
  public:
    DiskTimes() = default;
    ~DiskTimes() { close(); }
    DiskTimes(const DiskTimes&) = delete;
    DiskTimes& operator=(const DiskTimes&) = delete;

    /// `st` is of a file in `directory` that was to have the time `wanted`. True: it has what the disk makes of that
    /// time.
    [[nodiscard]] bool agree(int directory, const struct stat& st, const FileTime& wanted);
    /// Removes the probes. Restores the time of a probe's directory if only the probe changed it.
    void close();

  private:
    struct Probe {
        UniqueFd fd;
        UniqueFd directory;  // directory of the probe, only if the file system has no unnamed files
        std::string name;
        FileTime before;  // time of the directory before the probe
        FileTime after;   // time of the directory with the probe
    };
    [[nodiscard]] const Probe& probe_of(int directory, dev_t device);
    [[nodiscard]] static Probe make_probe(int directory);

    std::map<dev_t, Probe> probes_;
};

/// Counts entries that got another time than the one set.
class LostTimes {
  public:
    /// `fd` is open now and gets the name `path` later.
    void look(int fd, const std::string& path, const FileTime& wanted);
    void look(const struct stat& st, const std::string& path, const FileTime& wanted);
    /// A warning for the user, once. Empty: no time was lost.
    [[nodiscard]] std::string take();

  private:
    std::uint64_t count_ = 0;
    std::string first_;
    FileTime wanted_;
    FileTime got_;
};

/// "2300-01-01 00:00:00 UTC", with as many digits of the second as it has. Outside the years 0 to 9999: seconds since
/// 1970.
[[nodiscard]] std::string to_text(const FileTime& time);

}  // namespace udtx::transfer
