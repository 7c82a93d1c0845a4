// Measures how long a thread has worked; other threads can read it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "udtx/time.hpp"

namespace udtx::transfer {

/// One thread works, in shifts. Any thread may call busy().
class WorkClock {
  public:
    class Shift {
      public:
        explicit Shift(WorkClock& clock) noexcept : clock_(clock) { clock_.began_ = now(); }
        ~Shift() {
            clock_.done_ += now() - clock_.began_;
            clock_.began_ = 0;
        }
        Shift(const Shift&) = delete;
        Shift& operator=(const Shift&) = delete;

      private:
        WorkClock& clock_;
    };

    /// Sum of all shifts so far, including the present one.
    [[nodiscard]] Duration busy() const noexcept {
        const std::int64_t began = began_;
        const std::int64_t done = done_;
        return std::chrono::nanoseconds(done + (began == 0 ? 0 : now() - began));
    }

  private:
    [[nodiscard]] static std::int64_t now() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    std::atomic<std::int64_t> done_{0};   // ns
    std::atomic<std::int64_t> began_{0};  // ns on the steady clock; 0: no shift
};

}  // namespace udtx::transfer
