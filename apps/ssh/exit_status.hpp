// What ssh, and the shell at its other end, end with where the command did not run.
#pragma once

namespace udtx::apps {

inline constexpr int kCommandNotRunnable = 126;
inline constexpr int kCommandNotFound = 127;
inline constexpr int kSshFailed = 255;

}  // namespace udtx::apps
