// Parts of a file mode.
#pragma once

#include <cstdint>

namespace udtx::transfer::mode_bits {

inline constexpr std::uint32_t kPermissions = 0777;
inline constexpr std::uint32_t kSpecial = 07000;
inline constexpr std::uint32_t kSetId = 06000;
inline constexpr std::uint32_t kSetUser = 04000;
inline constexpr std::uint32_t kSetGroup = 02000;
inline constexpr std::uint32_t kAll = 07777;
inline constexpr std::uint32_t kOwner = 0700;
inline constexpr std::uint32_t kOwnerReadWrite = 0600;
inline constexpr std::uint32_t kOthersWrite = 0002;
/// The set-group-ID bit of a directory passes its group on, and the sticky bit protects its entries. Neither gives
/// rights away.
inline constexpr std::uint32_t kOfDirectory = 03777;

/// The mode that a directory of a peer gets. `owners`: the peer may also set owners and groups.
[[nodiscard]] constexpr std::uint32_t of_directory(std::uint32_t mode, bool set_id, bool owners) {
    if (set_id) return mode & kAll;
    // Where everybody may create files, everybody would get its group for them.
    const bool gives_group_away = (mode & kOthersWrite) != 0 && !owners;
    return mode & kOfDirectory & ~(gives_group_away ? kSetGroup : 0U);
}

}  // namespace udtx::transfer::mode_bits
