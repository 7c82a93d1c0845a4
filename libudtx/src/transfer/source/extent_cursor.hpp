// Where a file holds data, found piece by piece while it is read.
#pragma once

#include <cstdint>
#include <optional>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

/// Longest extent that is announced at once: what has to be sent when the file fails midway, at either end.
inline constexpr std::uint64_t kSentExtentBytes = 8U << 20U;

class ExtentCursor {
  public:
    /// `holes`: ask the file system for them; otherwise all of [0, size) is data.
    ExtentCursor(int fd, std::uint64_t size, bool holes) : fd_(fd), size_(size), holes_(holes) {}
    /// The next extent, ascending, at most kSentExtentBytes; nullopt at the end.
    [[nodiscard]] std::optional<Extent> next();

  private:
    /// Moves at_ over a hole and data_end_ to the end of the data there.
    void seek_data();

    int fd_;
    std::uint64_t size_;
    bool holes_;
    std::uint64_t at_ = 0;
    std::uint64_t data_end_ = 0;
};

}  // namespace udtx::transfer
