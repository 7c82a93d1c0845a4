// System calls: errors, users, processor time.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "udtx/descriptor.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx {

// Errors of system calls, with the errno that identifies the cause.

/// The message is "WHAT: the system's text for `error_number`".
[[nodiscard]] Error system_failure(ErrorCode code, std::string what, int error_number);

/// The remedy if the system refuses a thread with that errno.
[[nodiscard]] std::string remedy_for_no_thread(int error_number);

/// The errno in an exception of the standard library or of Boost; 0 if it has none.
[[nodiscard]] int error_number_of(const std::exception& thrown) noexcept;

}  // namespace udtx

// Which users may decide what this process reads and writes.

namespace udtx::os {

/// True for this user, for root, and for the user who became root by sudo.
inline bool is_trusted_user(uid_t user) {
    if (user == ::geteuid() || user == ::getuid() || user == 0) return true;
    const char* const caller = std::getenv("SUDO_UID");
    return ::geteuid() == 0 && caller != nullptr && std::to_string(user) == caller;
}

}  // namespace udtx::os

// The processor time that a thread needs.

namespace udtx {

/// Construct it on the thread that it measures. Any thread may call needed() while that thread lives.
class ThreadTime {
  public:
    ThreadTime() {
#ifdef __linux__
        const std::string path = "/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/schedstat";
        file_.reset(open_file(path.c_str(), O_RDONLY | O_CLOEXEC));
#endif
        clock_known_ = ::pthread_getcpuclockid(::pthread_self(), &clock_) == 0;
    }

    /// The time that the thread ran, plus the time that it was ready and waited for a processor. If this grows about as
    /// fast as the clock, the thread is saturated. Without schedstat it is only the time that the thread ran.
    [[nodiscard]] Duration needed() const {
        std::array<char, 128> text{};
        const ssize_t n = file_ ? ::pread(file_.get(), text.data(), text.size(), 0) : 0;
        if (n > 0) {
            std::int64_t running = 0;
            std::int64_t waiting = 0;
            const char* const end = text.data() + n;
            const auto first = std::from_chars(text.data(), end, running);
            if (first.ec == std::errc() && first.ptr != end) std::from_chars(first.ptr + 1, end, waiting);
            return std::chrono::nanoseconds(running + waiting);
        }
        timespec spent{};
        if (!clock_known_ || ::clock_gettime(clock_, &spent) != 0) return {};
        return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
    }

  private:
    UniqueFd file_;
    clockid_t clock_{};
    bool clock_known_ = false;
};

}  // namespace udtx
