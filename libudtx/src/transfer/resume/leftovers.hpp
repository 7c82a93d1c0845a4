// What transfers that ended before their end left in directories: journals, and temporary files beside what they were
// to become. Nothing is touched that a transfer under way may still need, and nothing that is not ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::transfer {

/// So long what is left may wait for the same command in a directory that other transfers come to.
inline constexpr std::int64_t kKeepLeftoversDays = 14;

/// In the directory and all below it; links are not followed.
[[nodiscard]] CleanCounts clean_leftovers(const ConfinedDir& base, const CleanOptions& options,
                                          const CleanCallbacks& callbacks);

/// Journals among the names in `root` that nobody has used for so many days, with their temporary files; how many.
std::size_t remove_old_journals(const ConfinedDir& root, const std::vector<std::string>& names, std::int64_t days);

/// Files are being made in the directory and below: clean_leftovers() leaves them alone as long as `root`'s descriptor
/// is open.
void mark_in_use(const ConfinedDir& root);

}  // namespace udtx::transfer
