// How many bytes a writer may have waiting for their first transmission.
//
// Bytes that do not fit into the processor's cache have to be fetched from memory again when they are sent. With too
// few bytes, the link is idle while the writer sleeps or waits for its disk. So the limit starts at the size of a
// cache. It doubles whenever the writer came too late, and is halved after a long time without that.
#pragma once

#include <algorithm>
#include <cstdint>

namespace udtx::stream {

class WriteAhead {
  public:
    static constexpr std::uint64_t kLeast = 4U << 20U;

    explicit WriteAhead(std::uint64_t bound) noexcept : bound_(bound), most_(std::min(kLeast, bound)) {}

    [[nodiscard]] std::uint64_t most() const noexcept { return most_; }
    /// Call it when most() bytes wait.
    void on_full() noexcept { refilling_ = false; }
    /// Call it when half of them have left and the writer is notified.
    void on_room() noexcept {
        refilling_ = true;
        if (++in_time_ < kLongTime) return;
        in_time_ = 0;
        most_ = std::max(most_ / 2, std::min(kLeast, bound_));
    }
    /// Call it when no bytes wait any more.
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
    bool refilling_ = false;  // the writer was notified, and most() bytes have not waited since
};

}  // namespace udtx::stream
