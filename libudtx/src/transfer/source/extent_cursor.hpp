// Finds where a file holds data, piece by piece while the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/file/pieces.hpp"
#include "transfer/message/messages.hpp"

struct stat;

namespace udtx::transfer {

/// Longest extent that is announced at once. If the file fails midway, at either end, the rest of the extent must still
/// be sent.
inline constexpr std::uint64_t kSentExtentBytes = 8U << 20U;

/// True if it occupies less than its size: it has holes, or the file system compresses it.
[[nodiscard]] bool may_have_holes(const struct stat& st) noexcept;

class ExtentCursor {
  public:
    enum class Holes { as_told, read };

    /// Covers the bytes in `range` of a file with the state `st`. `reader` outlives the cursor.
    ///
    /// as_told: the file system's word on holes is believed if nothing else contradicts it. Otherwise the bytes are
    /// read, and only those that read as zeros are left out.
    ExtentCursor(int fd, const struct stat& st, const Extent& range, PieceHasher& reader, Holes holes = Holes::as_told);
    /// The next extent, ascending, at most kSentExtentBytes; nullopt at the end. An empty one only says that there were
    /// zeros so far.
    [[nodiscard]] std::optional<Extent> next();

  private:
    /// The same, where no word on holes is believed.
    [[nodiscard]] std::optional<Extent> next_read();
    /// Length of the block at at_, which ends with the range at the latest.
    [[nodiscard]] std::uint64_t block() const;

    int fd_;
    PieceHasher* reader_;
    std::uint64_t at_;
    std::uint64_t end_;
    std::optional<std::vector<Extent>> data_;  // nullopt: the bytes must be read
    std::size_t next_data_ = 0;
};

}  // namespace udtx::transfer
