// What stands under a name where something is to come, and how it makes way: by rsync's rules a file or link always
// does, an empty directory does, and one with something in it only under --delete.
#pragma once

#include <cstdint>
#include <string>

#include "transfer/confined_dir.hpp"
#include "transfer/eraser.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

enum class Occupant : std::uint8_t {
    nothing,
    directory,
    other,    ///< a file, a link, a device
    barrier,  ///< no name of ours: something that is no directory stands above it
};

/// Of an attempt to open the directory of a name: it is none, or a link.
[[nodiscard]] bool is_barrier(int error_number) noexcept;
[[nodiscard]] Occupant occupant_of(const ConfinedDir& root, const std::string& path);
/// A symbolic link that leads there.
[[nodiscard]] bool is_link_to(const ConfinedDir& root, const std::string& path, const std::string& target);
/// Two names of one regular file.
[[nodiscard]] bool is_same_file(const ConfinedDir& root, const std::string& path, const std::string& other);

enum class Way : std::uint8_t { look, clear };
/// For a file or a link: a directory of that name goes, what is in it by the eraser (null: nothing is to be deleted).
/// With Way::look it only would. refused: it does not.
[[nodiscard]] Result<void> clear_way(const ConfinedDir& root, const std::string& path, Eraser* eraser, Way way);

}  // namespace udtx::transfer
