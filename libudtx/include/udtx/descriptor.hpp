// An owner of a file descriptor, and calls that a signal may interrupt.
#pragma once

#include <cerrno>
#include <utility>

#include "udtx/export.hpp"

namespace udtx {

/// Makes a call until no signal has interrupted it.
template <typename Call>
auto again(const Call& call) noexcept {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

/// open(2), made again after a signal.
[[nodiscard]] UDTX_EXPORT int open_file(const char* path, int flags, unsigned mode = 0) noexcept;

/// Closes the descriptor that it owns, if any.
class UDTX_EXPORT UniqueFd {
  public:
    /// Owns none.
    UniqueFd() = default;
    /// Owns `fd` from now on; below 0: none, as an open() that failed has it.
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    /// Leaves none behind.
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    /// Closes what was here; leaves none behind.
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    /// -1: none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// There is one.
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// Who asked closes it; -1: there was none.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// For one that was written to: some file systems say only now what became of that. Gives 0 or an errno.
    [[nodiscard]] int close() noexcept;
    /// Closes what there is, and owns `fd` in its place.
    void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

}  // namespace udtx
