// What a thread needed of the processors.
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

/// Made on the thread that it is about; may be asked on any thread while that one lives.
class ThreadTime {
  public:
    ThreadTime() {
#ifdef __linux__
        const std::string path = "/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/schedstat";
        file_.reset(open_file(path.c_str(), O_RDONLY | O_CLOEXEC));
#endif
        clock_known_ = ::pthread_getcpuclockid(::pthread_self(), &clock_) == 0;
    }

    /// Time on a processor, and time ready to run and waiting for one: near the passing time, more work than this
    /// thread does would not get done. Without schedstat, only the former.
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
