// Parts of a file mode.
#pragma once

#include <cstdint>

namespace udtx::transfer::mode_bits {

inline constexpr std::uint32_t kPermissions = 0777;
inline constexpr std::uint32_t kSpecial = 07000;
inline constexpr std::uint32_t kSetId = 06000;
inline constexpr std::uint32_t kSetUser = 04000;
inline constexpr std::uint32_t kAll = 07777;
inline constexpr std::uint32_t kOwner = 0700;
inline constexpr std::uint32_t kOwnerWrite = 0200;
/// The set-group-ID bit of a directory passes its group on, and the sticky bit protects its entries. Neither gives
/// rights away.
inline constexpr std::uint32_t kOfDirectory = 03777;

}  // namespace udtx::transfer::mode_bits
