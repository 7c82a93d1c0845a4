// What stands under a name where something is to come.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "transfer/file/confined_dir.hpp"

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
/// One file, as it was. The inode number alone says little where one file system shows several others.
[[nodiscard]] bool same_state(const struct stat& a, const struct stat& b);
/// Two names of one regular file.
[[nodiscard]] bool is_same_file(const ConfinedDir& root, const std::string& path, const std::string& other);

}  // namespace udtx::transfer
