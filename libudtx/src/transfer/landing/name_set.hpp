// The names that a sender has, as hashes of eight bytes. If two names have the same hash, --delete may spare a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "transfer/names.hpp"

namespace udtx::transfer {

/// They take 128 MiB.
inline constexpr std::size_t kMaxNames = 16U << 20U;

class NameSet {
  public:
    void add(std::string_view path) { add(path_key(path)); }
    void add(std::uint64_t key) {
        if (keys_.size() == kMaxNames) squeeze();
        full_ = full_ || keys_.size() == kMaxNames;
        if (full_) return;
        keys_.push_back(key);
        sorted_ = false;
    }
    [[nodiscard]] std::uint64_t held() const noexcept { return keys_.capacity() * sizeof(std::uint64_t); }
    /// True if the set overflowed: it holds at most kMaxNames names.
    [[nodiscard]] bool full() const noexcept { return full_; }
    [[nodiscard]] bool has(std::string_view path) { return has(path_key(path)); }
    [[nodiscard]] bool has(std::uint64_t key) {
        squeeze();
        return std::binary_search(keys_.begin(), keys_.end(), key);
    }

  private:
    void squeeze() {
        if (sorted_) return;
        std::sort(keys_.begin(), keys_.end());
        keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
        sorted_ = true;
    }

    std::vector<std::uint64_t> keys_;
    bool sorted_ = true;
    bool full_ = false;
};

}  // namespace udtx::transfer
