// How what stands in the place of something that comes makes way: by rsync's rules a file or link always does, an empty
// directory does, and one with something in it only under --delete.
#pragma once

#include <cstdint>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/eraser.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

enum class Way : std::uint8_t { look, clear };
/// For a file or a link: a directory of that name goes, what is in it by the eraser (null: nothing is to be deleted).
/// With Way::look it only would. refused: it does not.
[[nodiscard]] Result<void> clear_way(const ConfinedDir& root, const std::string& path, Eraser* eraser, Way way);

}  // namespace udtx::transfer
