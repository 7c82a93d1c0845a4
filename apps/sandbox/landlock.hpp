// Linux's Landlock: a process gives up the right to write elsewhere, root too. By its system calls: no library is
// needed.
#pragma once

#include <string>
#include <vector>

#include "sandbox/sandbox.hpp"

namespace udtx::apps {

/// The least version that can move names between directories, which hard links need: Linux 5.19.
inline constexpr int kLeastLandlock = 2;
/// From here on files elsewhere cannot be emptied, either: Linux 6.2.
inline constexpr int kLandlockTruncates = 3;

/// Of this system; 0: none.
[[nodiscard]] int landlock_version() noexcept;
/// Needs PR_SET_NO_NEW_PRIVS. Those of the places that cannot be had, which are read only then.
Result<std::vector<PlaceLeftOut>> enter_landlock(int version, const SandboxPlaces& places);

}  // namespace udtx::apps
