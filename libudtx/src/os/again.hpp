// System calls that a signal may interrupt.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>

namespace udtx {

/// Makes a call until no signal has interrupted it.
template <typename Call>
auto again(const Call& call) noexcept {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

[[nodiscard]] inline int open_file(const char* path, int flags, mode_t mode = 0) noexcept {
    return again([&] { return ::open(path, flags, mode); });
}

}  // namespace udtx
