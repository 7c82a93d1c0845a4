// Linux's Landlock: the process, even as root, gives up the right to write outside given places. Uses the system calls
// directly, without a library.
#pragma once

#include <string>
#include <vector>

#include "sandbox/sandbox.hpp"

namespace udtx::apps {

/// The least version in which files can move between directories, which hard links need: Linux 5.19.
inline constexpr int kLeastLandlock = 2;
/// From this version on, Landlock also stops truncation of files elsewhere: Linux 6.2.
inline constexpr int kLandlockTruncates = 3;

/// Version of this system; 0: none.
[[nodiscard]] int landlock_version() noexcept;
/// Needs PR_SET_NO_NEW_PRIVS. Returns the places that could not be opened, which become read-only.
Result<std::vector<PlaceLeftOut>> enter_landlock(int version, const SandboxPlaces& places);

}  // namespace udtx::apps
