// How a transfer goes on where an earlier run of it ended, and what those that never went on leave behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Which runs are runs of one and the same command. From the host, the sources (a relative one counts from
/// `working_directory`) and the destination; never 0.
[[nodiscard]] UDTX_EXPORT std::uint64_t transfer_number(const std::string& host, const std::string& working_directory,
                                                        const std::vector<std::string>& sources,
                                                        const std::string& destination);
/// On this host, in this process's directory.
[[nodiscard]] UDTX_EXPORT std::uint64_t transfer_number(const std::vector<std::string>& sources,
                                                        const std::string& destination);

class SentNames;

/// Which files the earlier connections of a transfer have sent, for a program that dials again when a connection was
/// lost: the same object in the options of each. A receiver that was killed may know nothing of a file that it
/// delivered, and Outcome::sent_earlier then tells it from one that had always stood there. Copies are the same object;
/// one transfer at a time.
class UDTX_EXPORT SentFiles {
  public:
    SentFiles();
    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<SentNames>& names() const noexcept { return names_; }

  private:
    std::shared_ptr<SentNames> names_;
};

struct CleanOptions {
    bool dry_run = false;
    std::int64_t older_than_days = 0;
};
struct CleanCounts {
    std::uint64_t removed = 0;
    std::uint64_t bytes = 0;  ///< that they took on the disk
    std::uint64_t kept = 0;   ///< in use, too new, or not to be taken for ours
    std::uint64_t failed = 0;
};
/// Called by the thread that cleans; paths are unescaped.
struct CleanCallbacks {
    /// Of a dry run: it would be.
    std::function<void(const std::string& path, std::uint64_t bytes)> removed = [](const std::string&, std::uint64_t) {
    };
    std::function<void(const std::string& path, const std::string& why)> kept = [](const std::string&,
                                                                                   const std::string&) {};
    std::function<void(const std::string& path, const Error& error)> failed = [](const std::string&, const Error&) {};
};

/// Removes what transfers that ended before their end left in the directory and all below it: journals, and temporary
/// files beside what they were to become. Links are not followed. Nothing is touched that a transfer under way may
/// still need, and nothing that is not ours. file_io: the directory cannot be opened.
[[nodiscard]] UDTX_EXPORT Result<CleanCounts> clean_leftovers(const std::string& directory,
                                                              const CleanOptions& options = {},
                                                              const CleanCallbacks& callbacks = {});

}  // namespace udtx::transfer
