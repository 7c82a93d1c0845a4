// How what stands in the place of something that comes makes way: by rsync's rules a file or link always does, an empty
// directory does, and one with something in it only under --delete.
#pragma once

#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/eraser.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// For a file or a link: of a directory of that name nothing is left but itself, emptied by the eraser (null: nothing
/// is to be deleted), and the name may take its place. refused: it stays.
[[nodiscard]] Result<void> clear_way(const ConfinedDir& root, const std::string& path, Eraser* eraser);

}  // namespace udtx::transfer
