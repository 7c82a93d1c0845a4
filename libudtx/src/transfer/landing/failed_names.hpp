// Names that did not get what was sent for them: what stands there is not what their other names are to be.
#pragma once

#include <mutex>
#include <string_view>

#include "transfer/landing/name_set.hpp"

namespace udtx::transfer {

/// Of the writer's thread and the committer's.
class FailedNames {
  public:
    void add(std::string_view path) {
        const std::lock_guard lock(mutex_);
        names_.add(path);
    }
    /// Also where there were too many to know.
    [[nodiscard]] bool may_have(std::string_view path) {
        const std::lock_guard lock(mutex_);
        return names_.full() || names_.has(path);
    }

  private:
    std::mutex mutex_;
    NameSet names_;
};

}  // namespace udtx::transfer
