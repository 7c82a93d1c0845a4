// What a file system makes of the times that it is given: some know steps of a second or two only, some begin in 1980
// or end in 2038, and say nothing when they keep another time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "transfer/file_time.hpp"
#include "udtx/descriptor.hpp"

struct stat;

namespace udtx::transfer {

/// Whether a time that stands on the disk is all that the disk can make of another one. Where it could be, a probe of
/// our own gets that time, and tells. Writer thread.
class DiskTimes {
  public:
    DiskTimes() = default;
    ~DiskTimes() { close(); }
    DiskTimes(const DiskTimes&) = delete;
    DiskTimes& operator=(const DiskTimes&) = delete;

    /// `st` of a file in `directory`, which was to have the time `wanted`.
    [[nodiscard]] bool agree(int directory, const struct stat& st, const FileTime& wanted);
    /// Removes what it has made, and leaves directories the times that they had, if that is all that changed them.
    void close();

  private:
    struct Probe {
        UniqueFd fd;
        UniqueFd directory;  // where it has a name: where the file system knows no files without
        std::string name;
        FileTime before;  // of the directory ...
        FileTime after;   // ... and when it had that name
    };
    [[nodiscard]] const Probe& probe_of(int directory, dev_t device);
    [[nodiscard]] static Probe make_probe(int directory);

    std::map<dev_t, Probe> probes_;
};

/// Counts what got another time than it was given.
class LostTimes {
  public:
    /// What is open now stands at `path` later.
    void look(int fd, const std::string& path, const FileTime& wanted);
    void look(const struct stat& st, const std::string& path, const FileTime& wanted);
    /// For the user, once; empty if there is nothing to say.
    [[nodiscard]] std::string take();

  private:
    std::uint64_t count_ = 0;
    std::string first_;
    FileTime wanted_;
    FileTime got_;
};

/// "2300-01-01 00:00:00 UTC", with as many digits of the second as it has; beyond the year 9999 seconds since 1970.
[[nodiscard]] std::string to_text(const FileTime& time);

}  // namespace udtx::transfer
