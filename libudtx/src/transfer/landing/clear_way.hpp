// Removes what occupies the place of an incoming entry, by rsync's rules: a file, a link or an empty directory is
// always replaced, a directory with entries only with --delete.
#pragma once

#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/eraser.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Prepares `path` for an incoming file or link. If `path` is a directory, `eraser` deletes its entries (null: nothing
/// may be deleted), and the caller may replace the empty directory. refused: the directory keeps entries.
[[nodiscard]] Result<void> clear_way(const ConfinedDir& root, const std::string& path, Eraser* eraser);

}  // namespace udtx::transfer
