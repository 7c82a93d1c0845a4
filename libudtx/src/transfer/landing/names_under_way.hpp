// The files that a receiver is writing, or that wait for their final names.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "transfer/names.hpp"

namespace udtx::transfer {

/// Any thread may use it.
class NamesUnderWay {
  public:
    /// False: the file is under way already.
    [[nodiscard]] bool begin(std::string_view path) {
        const std::lock_guard lock(mutex_);
        return keys_.insert(path_key(path)).second;
    }
    void end(std::string_view path) {
        const std::lock_guard lock(mutex_);
        keys_.erase(path_key(path));
    }

  private:
    std::mutex mutex_;
    std::unordered_set<std::uint64_t> keys_;
};

}  // namespace udtx::transfer
