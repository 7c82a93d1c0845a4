// How a transfer continues an earlier run, and how to remove what runs leave that were never continued.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// A number that two runs share if they have the same host, sources and destination; never 0. Relative sources count
/// from `working_directory`.
[[nodiscard]] UDTX_EXPORT std::uint64_t transfer_number(const std::string& host, const std::string& working_directory,
                                                        const std::vector<std::string>& sources,
                                                        const std::string& destination);
/// The same for this host and the working directory of this process.
[[nodiscard]] UDTX_EXPORT std::uint64_t transfer_number(const std::vector<std::string>& sources,
                                                        const std::string& destination);

class SentNames;

/// Which files earlier connections of a transfer have sent, for a program that dials again after a lost connection: put
/// the same object into the options of each. By it Outcome::sent_earlier tells files that the transfer itself delivered
/// from those that were there before. Copies mean the same object. One transfer at a time may use it.
class UDTX_EXPORT SentFiles {
  public:
    SentFiles();  ///< None so far.
    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<SentNames>& names() const noexcept { return names_; }

  private:
    std::shared_ptr<SentNames> names_;
};

/// What to remove.
struct CleanOptions {
    bool dry_run = false;              ///< only tell what would be removed
    std::int64_t older_than_days = 0;  ///< keep files that were changed since
};
/// What was removed.
struct CleanCounts {
    std::uint64_t removed = 0;  ///< files
    std::uint64_t bytes = 0;    ///< that `removed` took on the disk
    std::uint64_t kept = 0;     ///< files that are in use, too new, or may not be of a transfer
    std::uint64_t failed = 0;   ///< files that could not be removed
};
/// What is told of each file, on the thread that cleans. Paths are unescaped.
struct CleanCallbacks {
    /// It was removed; in a dry run it would be.
    std::function<void(const std::string& path, std::uint64_t bytes)> removed = [](const std::string&, std::uint64_t) {
    };
    /// It stays, and why.
    std::function<void(const std::string& path, const std::string& why)> kept = [](const std::string&,
                                                                                   const std::string&) {};
    /// It could not be removed.
    std::function<void(const std::string& path, const Error& error)> failed = [](const std::string&, const Error&) {};
};

/// Removes what interrupted transfers have left in the directory and below it: journals and temporary files. They can
/// then not be continued. Files that a transfer under way may need stay, and so does what is not this user's. Symbolic
/// links are not followed. Blocks. file_io: the directory cannot be opened.
[[nodiscard]] UDTX_EXPORT Result<CleanCounts> clean_leftovers(const std::string& directory,
                                                              const CleanOptions& options = {},
                                                              const CleanCallbacks& callbacks = {});

}  // namespace udtx::transfer
