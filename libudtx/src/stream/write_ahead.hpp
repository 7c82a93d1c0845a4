// How many bytes a writer may have waiting to be sent for the first time.
//
// What is more than a processor's cache holds has to be fetched from memory again when its turn comes; what is less
// than leaves while the writer sleeps, or waits for its disk, leaves the line empty. So it begins with what a cache
// holds, doubles whenever the writer came too late, and is halved after a long time without that.
#pragma once

#include <algorithm>
#include <cstdint>

namespace udtx::stream {

class WriteAhead {
  public:
    static constexpr std::uint64_t kLeast = 4U << 20U;

    explicit WriteAhead(std::uint64_t bound) noexcept : bound_(bound), most_(std::min(kLeast, bound)) {}

    [[nodiscard]] std::uint64_t most() const noexcept { return most_; }
    /// So much waits.
    void on_full() noexcept { refilling_ = false; }
    /// Half of it has left, and the writer is told.
    void on_room() noexcept {
        refilling_ = true;
        if (++in_time_ < kLongTime) return;
        in_time_ = 0;
        most_ = std::max(most_ / 2, std::min(kLeast, bound_));
    }
    /// Nothing waits any more.
    void on_empty() noexcept {
        if (!refilling_) return;
        refilling_ = false;
        in_time_ = 0;
        most_ = std::min(2 * most_, bound_);
    }

  private:
    static constexpr int kLongTime = 32;  // refills

    std::uint64_t bound_;
    std::uint64_t most_;
    int in_time_ = 0;
    bool refilling_ = false;  // told, and not full since
};

}  // namespace udtx::stream
