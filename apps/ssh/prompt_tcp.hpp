// Removes delays from a child process's TCP connection. OpenSSH turns Nagle's algorithm off only for the session.
// Before that, a packet that follows another waits for its acknowledgement, which either kernel delays by 40 ms.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "udtx/descriptor.hpp"

namespace udtx::apps {

class PromptTcp {
  public:
    /// Longest delay of an acknowledgement after a packet.
    static constexpr std::chrono::milliseconds kEvery{5};

    /// `child` must not have been waited for yet.
    explicit PromptTcp(pid_t child);

    /// Call it every kEvery. From then on the child's TCP connections send at once, and pending acknowledgements leave
    /// now. False: no more calls are needed, because the system forbids it (Linux before 5.6, a container) or enough
    /// time has passed.
    [[nodiscard]] bool hasten();

  private:
    UniqueFd process_;
    std::chrono::steady_clock::time_point until_;
};

}  // namespace udtx::apps
