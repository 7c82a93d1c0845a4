// What a receiver of an ordered stream has to hold, and for how long, from two counts: bytes that have arrived and
// bytes that were handed over in order.
#pragma once

#include <cstdint>
#include <deque>

#include "udtx/time.hpp"

namespace udtx::sim {

class ReorderMeter {
  public:
    explicit ReorderMeter(Instant start) : start_(start), last_(start) {}

    /// To be called after each datagram. `in_order` is never above `received`; neither falls.
    void update(Instant now, std::uint64_t received, std::uint64_t in_order);

    [[nodiscard]] std::uint64_t held() const noexcept { return received_ - in_order_; }
    [[nodiscard]] std::uint64_t most_held() const noexcept { return most_held_; }
    /// Over time, from the start to the last update.
    [[nodiscard]] double mean_held() const noexcept;
    /// How long a byte that came waited for those before it: the mean of all bytes handed over, exact (Little's law).
    [[nodiscard]] double mean_wait_s() const noexcept;
    /// The longest wait, if bytes that wait are handed over in the order in which they came: so it is where one path
    /// is ahead of another, whose bytes are missing.
    [[nodiscard]] Duration longest_wait() const noexcept { return longest_wait_; }

  private:
    struct Waiting {
        Instant since;
        std::uint64_t bytes;
    };
    void hand_over(Instant now, std::uint64_t bytes);

    Instant start_;
    Instant last_;
    std::uint64_t received_ = 0;
    std::uint64_t in_order_ = 0;
    std::uint64_t most_held_ = 0;
    double held_seconds_ = 0.0;  // bytes x s
    Duration longest_wait_{};
    std::deque<Waiting> waiting_;
};

}  // namespace udtx::sim
