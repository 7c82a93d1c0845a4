// Owner of a file descriptor, the only one there is.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace udtx {

class UniqueFd {
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
    [[nodiscard]] int close() noexcept {
        const int fd = release();
        // After EINTR it is closed all the same.
        return fd < 0 || ::close(fd) == 0 || errno == EINTR ? 0 : errno;
    }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

}  // namespace udtx
