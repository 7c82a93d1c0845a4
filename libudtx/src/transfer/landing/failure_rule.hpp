// The one rule for what goes wrong at the receiving end.
//
// Data comes first. What belongs to an entry beside its data (Belonging) and cannot be set is counted and named, and
// the entry stands. What cannot be created, written or named ends that entry. Only the disk itself, failing for one
// entry after the other, ends the transfer: all that would still be sent would be in vain.
#pragma once

#include <optional>

#include "udtx/result.hpp"

namespace udtx::transfer {

/// There is no room, or none for this user. Says nothing of a smaller file.
[[nodiscard]] bool is_full_disk(const Error& error) noexcept;
/// The disk is full, fails, is read-only or gone: the next entry is likely to meet the same. Not so where it only does
/// not take a name, a size or a right.
[[nodiscard]] bool is_of_disk(const Error& error) noexcept;

/// Counts entries that the disk failed, one after the other. Of one thread.
class DiskWatch {
  public:
    /// An entry arrived.
    void succeeded() noexcept { failed_ = full_ = 0; }
    /// An entry did not; what ends the transfer, if that does.
    [[nodiscard]] std::optional<Error> failed(const Error& error);

  private:
    int failed_ = 0;
    int full_ = 0;
};

}  // namespace udtx::transfer
