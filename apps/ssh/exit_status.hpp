// Exit codes of ssh, and of the shell at its other end, if the command did not run.
#pragma once

namespace udtx::apps {

inline constexpr int kCommandNotRunnable = 126;
inline constexpr int kCommandNotFound = 127;
inline constexpr int kSshFailed = 255;

}  // namespace udtx::apps
