// The processor time that a thread needs.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "udtx/descriptor.hpp"
#include "udtx/time.hpp"

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
