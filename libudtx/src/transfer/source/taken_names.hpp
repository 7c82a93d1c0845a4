// The names that a walk has found, if another source or line of a list may repeat one. A name takes 11 to 22 bytes,
// since there may be millions. A hash collision leaves out a file; it happens once in ten million trees of a million
// names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "transfer/names.hpp"

namespace udtx::transfer {

class TakenNames {
  public:
    enum class Holder { none, directory, other };
    /// Returns which type of entry has the name already; if none has, takes the name.
    Holder take(std::string_view path, bool directory) {
        if (4 * (count_ + 1) > 3 * slots_.size()) grow();
        const std::uint64_t key = (path_key(path) & ~(kTaken | kDirectory)) | kTaken | (directory ? kDirectory : 0);
        std::uint64_t& slot = slot_of(key);
        if (slot != 0) return (slot & kDirectory) != 0 ? Holder::directory : Holder::other;
        slot = key;
        ++count_;
        return Holder::none;
    }

  private:
    static constexpr std::uint64_t kTaken = 1;
    static constexpr std::uint64_t kDirectory = 2;

    /// The slot of the key, or the free slot for it.
    std::uint64_t& slot_of(std::uint64_t key) {
        std::size_t at = static_cast<std::size_t>(key >> 2U) & (slots_.size() - 1);
        while (slots_[at] != 0 && (slots_[at] | kDirectory) != (key | kDirectory)) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        const auto before =
            std::exchange(slots_, std::vector<std::uint64_t>(slots_.empty() ? 1024 : 2 * slots_.size()));
        for (const std::uint64_t key : before) {
            if (key != 0) slot_of(key) = key;
        }
    }

    std::vector<std::uint64_t> slots_;  // their number is a power of two; at least a quarter is free (0)
    std::size_t count_ = 0;
};

}  // namespace udtx::transfer
