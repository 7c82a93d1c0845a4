// How a transfer continues an earlier run, and how to remove the files of runs that were never continued.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Returns the number that identifies a transfer: two runs with the same host, sources and destination share it. It is
/// never 0. Relative sources are relative to `working_directory`.
[[nodiscard]] UDTX_EXPORT std::uint64_t transfer_number(const std::string& host, const std::string& working_directory,
                                                        const std::vector<std::string>& sources,
                                                        const std::string& destination);
/// Returns the number for this host and the working directory of this process.
[[nodiscard]] UDTX_EXPORT std::uint64_t transfer_number(const std::vector<std::string>& sources,
                                                        const std::string& destination);

class SentNames;

/// Records which files earlier connections of a transfer have sent. It is for a program that reconnects after a lost
/// connection: put the same object into the options of each connection. Outcome::sent_earlier then separates files that
/// this transfer delivered from files that existed before. Copies refer to the same object. Only one transfer at a time
/// may use it.
class UDTX_EXPORT SentFiles {
  public:
    SentFiles();  ///< No files yet.

  private:
    friend struct udtx::StateAccess;
    std::shared_ptr<SentNames> state_;
};

/// What clean_leftovers() removes.
struct CleanOptions {
    bool dry_run = false;              ///< true: only report what would be removed
    std::int64_t older_than_days = 0;  ///< keep files that changed within this number of days
    bool jobs = false;  ///< true: also remove jobs that wait for the rest of their shards; all shards then run again
};
/// The result of clean_leftovers().
struct CleanCounts {
    std::uint64_t removed = 0;  ///< number of removed files
    std::uint64_t bytes = 0;    ///< disk space of the removed files
    std::uint64_t kept = 0;     ///< number of files that are in use, too new, or perhaps not from a transfer
    std::uint64_t failed = 0;   ///< number of files that could not be removed
};
/// Callbacks for each file, on the calling thread. Paths are unescaped.
struct CleanCallbacks {
    /// The file was removed. In a dry run it would be removed.
    std::function<void(const std::string& path, std::uint64_t bytes)> removed = [](const std::string&, std::uint64_t) {
    };
    /// The file stays; `why` is the reason.
    std::function<void(const std::string& path, const std::string& why)> kept = [](const std::string&,
                                                                                   const std::string&) {};
    /// The file could not be removed.
    std::function<void(const std::string& path, const Error& error)> failed = [](const std::string&, const Error&) {};
};

/// Removes the journals and temporary files that interrupted transfers have left in `directory` and below it. These
/// transfers can then not continue. A job that waits for the rest of its shards stays for 14 days. Files that a running
/// transfer may need stay, and so do files of other users. Does not follow symbolic links. Blocks. file_io: the
/// directory cannot be opened.
[[nodiscard]] UDTX_EXPORT Result<CleanCounts> clean_leftovers(const std::string& directory,
                                                              const CleanOptions& options = {},
                                                              const CleanCallbacks& callbacks = {});

}  // namespace udtx::transfer
