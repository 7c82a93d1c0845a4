// Removes what interrupted transfers left in directories: journals, and temporary files beside their targets.
// Everything that a transfer under way may still need stays, and so do the files of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::transfer {

/// How long leftovers wait for the same command, in a directory that other transfers use.
inline constexpr std::int64_t kKeepLeftoversDays = 14;

/// Cleans the directory and everything below it. Does not follow symbolic links.
[[nodiscard]] CleanCounts clean_leftovers(const ConfinedDir& base, const CleanOptions& options,
                                          const CleanCallbacks& callbacks);

/// Removes the journals among `names` in `root` that nobody has used for `days`, and their temporary files. Returns how
/// many.
std::size_t remove_old_journals(const ConfinedDir& root, const std::vector<std::string>& names, std::int64_t days);

/// Marks that files are being made in the directory and below. clean_leftovers() skips them as long as `root`'s
/// descriptor is open.
void mark_in_use(const ConfinedDir& root);

}  // namespace udtx::transfer
