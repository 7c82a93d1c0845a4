// The one rule for failures at the receiver.
//
// Data comes first. If something that belongs to an entry besides its data (Belonging) cannot be set, it is counted and
// named, and the entry stays. An entry that cannot be created, written or named fails alone. The transfer ends only if
// the disk itself fails for one entry after the other, because everything sent later would be lost.
#pragma once

#include <optional>

#include "udtx/result.hpp"

namespace udtx::transfer {

/// True if the disk is full, or full for this user. A smaller file may still fit.
[[nodiscard]] bool is_full_disk(const Error& error) noexcept;
/// True if the disk is full, fails, is read-only or is gone: the next entry will probably fail too. False if the disk
/// only rejects a name, a size or a right.
[[nodiscard]] bool is_of_disk(const Error& error) noexcept;

/// Counts entries in a row that failed because of the disk. For one thread.
class DiskWatch {
  public:
    /// Call it for an entry that arrived.
    void succeeded() noexcept { failed_ = full_ = 0; }
    /// Call it for an entry that failed. Returns the error that ends the transfer, if it has to end.
    [[nodiscard]] std::optional<Error> failed(const Error& error);

  private:
    int failed_ = 0;
    int full_ = 0;
};

}  // namespace udtx::transfer
