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

class UDTX_EXPORT UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// For one that was written to: some file systems say only now what became of that. 0 or an errno.
    [[nodiscard]] int close() noexcept;
    void reset(int fd = -1) noexcept;

  private:
    int fd_ = -1;
};

}  // namespace udtx
