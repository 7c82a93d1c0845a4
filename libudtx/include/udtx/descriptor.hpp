// An owner of a file descriptor, and wrappers for system calls that signals may interrupt.
#pragma once

#include <cerrno>
#include <utility>

#include "udtx/export.hpp"

namespace udtx {

/// Repeats a system call while a signal interrupts it (EINTR).
template <typename Call>
auto again(const Call& call) noexcept {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

/// open(2), repeated while a signal interrupts it.
[[nodiscard]] UDTX_EXPORT int open_file(const char* path, int flags, unsigned mode = 0) noexcept;

/// Owns at most one file descriptor, and closes it.
class UDTX_EXPORT UniqueFd {
  public:
    /// Owns no descriptor.
    UniqueFd() = default;
    /// Owns `fd`. A negative `fd`, as from a failed open(), means no descriptor.
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    /// Takes the descriptor. `other` then owns none.
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    /// Closes the current descriptor and takes the other one. `other` then owns none.
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    /// Returns the descriptor; -1: none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// True if it owns a descriptor.
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// Gives up ownership: the caller must close the returned descriptor; -1: none.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// Closes the descriptor. Returns 0 or an errno: some file systems report failed writes only at this point.
    [[nodiscard]] int close() noexcept;
    /// Closes the descriptor, and owns `fd` instead.
    void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

}  // namespace udtx
