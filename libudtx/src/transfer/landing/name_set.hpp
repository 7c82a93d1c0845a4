// Which names a sender has, eight bytes each. Two that fall together spare a file that --delete would have taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "transfer/names.hpp"

namespace udtx::transfer {

/// 128 MiB of them.
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
    /// There were more than it can hold.
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
