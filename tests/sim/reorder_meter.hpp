// Measures how many bytes a receiver of an ordered stream holds, and for how long. It needs two counts: bytes that have
// arrived and bytes that were handed over in order.
#pragma once

#include <cstdint>
#include <deque>

#include "udtx/rate.hpp"

namespace udtx::sim {

class ReorderMeter {
  public:
    explicit ReorderMeter(Instant start) : start_(start), last_(start) {}

    /// Call this after each datagram. `in_order` never exceeds `received`, and both never decrease.
    void update(Instant now, std::uint64_t received, std::uint64_t in_order);

    [[nodiscard]] std::uint64_t held() const noexcept { return received_ - in_order_; }
    [[nodiscard]] std::uint64_t most_held() const noexcept { return most_held_; }
    /// Mean over time, from the start to the last update, bytes.
    [[nodiscard]] double mean_held() const noexcept;
    /// Time that a byte waits for the bytes before it: the exact mean over all bytes handed over (Little's law).
    [[nodiscard]] double mean_wait_s() const noexcept;
    /// The longest wait, if waiting bytes are handed over in the order of their arrival. This holds when one path is
    /// ahead of another path whose bytes are missing.
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
