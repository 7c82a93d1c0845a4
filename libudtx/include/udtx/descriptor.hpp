// An owner of a file descriptor, and system calls that signals may interrupt.
#pragma once

#include <cerrno>
#include <utility>

#include "udtx/export.hpp"

namespace udtx {

/// Repeats a system call as long as a signal interrupts it (EINTR).
template <typename Call>
auto again(const Call& call) noexcept {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

/// open(2), repeated as long as a signal interrupts it.
[[nodiscard]] UDTX_EXPORT int open_file(const char* path, int flags, unsigned mode = 0) noexcept;

/// Owns a file descriptor or none, and closes it.
class UDTX_EXPORT UniqueFd {
  public:
    /// Owns none.
    UniqueFd() = default;
    /// Owns `fd`; below 0, as of a failed open(): none.
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    /// Leaves none behind.
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    /// Closes what was here; leaves none behind.
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    /// The descriptor; -1: none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// There is one.
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// Gives the descriptor away, which the caller has to close; -1: there was none.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// Closes it, and returns 0 or an errno: some file systems report failed writes only then.
    [[nodiscard]] int close() noexcept;
    /// Closes it, and owns `fd` instead.
    void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

}  // namespace udtx
