// Which users may decide what this process reads and writes.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace udtx::os {

/// True for this user, for root, and for the user who became root by sudo.
inline bool is_trusted_user(uid_t user) {
    if (user == ::geteuid() || user == ::getuid() || user == 0) return true;
    const char* const caller = std::getenv("SUDO_UID");
    return ::geteuid() == 0 && caller != nullptr && std::to_string(user) == caller;
}

}  // namespace udtx::os
