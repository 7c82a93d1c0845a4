// Finds where a file holds data, piece by piece while the file is read.
#pragma once

#include <cstdint>
#include <optional>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

/// Longest extent that is announced at once. If the file fails midway, at either end, the rest of the extent must still
/// be sent.
inline constexpr std::uint64_t kSentExtentBytes = 8U << 20U;

class ExtentCursor {
  public:
    /// Covers the bytes in `range`. `holes`: ask the file system for holes; otherwise all bytes are data.
    ExtentCursor(int fd, const Extent& range, bool holes)
        : fd_(fd), end_(range.offset + range.length), holes_(holes), at_(range.offset), data_end_(range.offset) {}
    /// The next extent, ascending, at most kSentExtentBytes; nullopt at the end.
    [[nodiscard]] std::optional<Extent> next();

  private:
    /// Moves at_ over a hole, and data_end_ to the end of the data there.
    void seek_data();

    int fd_;
    std::uint64_t end_;
    bool holes_;
    std::uint64_t at_;
    std::uint64_t data_end_;
};

}  // namespace udtx::transfer
