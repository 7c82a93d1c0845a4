// Keeps the TCP connection of a child process from waiting. OpenSSH turns Nagle's algorithm off only for the session:
// until then a packet that follows another waits for its acknowledgement, which either kernel holds back for 40 ms.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "udtx/descriptor.hpp"

namespace udtx::apps {

class PromptTcp {
  public:
    /// How soon after a packet its acknowledgement leaves.
    static constexpr std::chrono::milliseconds kEvery{5};

    /// `child` has not been waited for yet.
    explicit PromptTcp(pid_t child);

    /// To be called every kEvery: the child's TCP connections send at once from now on, and acknowledge now. False:
    /// there is nothing more to do, because the system does not let us (Linux before 5.6, a container), or after a
    /// while.
    [[nodiscard]] bool hasten();

  private:
    UniqueFd process_;
    std::chrono::steady_clock::time_point until_;
};

}  // namespace udtx::apps
