// What transfers that ended before their end left in directories: journals, and temporary files beside what they were
// to become. Nothing is touched that a transfer under way may still need, and nothing that is not ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// So long what is left may wait for the same command in a directory that other transfers come to.
inline constexpr std::int64_t kKeepLeftoversDays = 14;

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
struct CleanCallbacks {
    /// Of a dry run: it would be.
    std::function<void(const std::string& path, std::uint64_t bytes)> removed;
    std::function<void(const std::string& path, const std::string& why)> kept;
    std::function<void(const std::string& path, const Error& error)> failed;
};

/// In the directory and all below it; links are not followed.
[[nodiscard]] CleanCounts clean_leftovers(const ConfinedDir& base, const CleanOptions& options,
                                          const CleanCallbacks& callbacks);

/// Journals among the names in `root` that nobody has used for so many days, with their temporary files; how many.
std::size_t remove_old_journals(const ConfinedDir& root, const std::vector<std::string>& names, std::int64_t days);

/// Files are being made in the directory and below: clean_leftovers() leaves them alone as long as `root`'s descriptor
/// is open.
void mark_in_use(const ConfinedDir& root);

}  // namespace udtx::transfer
