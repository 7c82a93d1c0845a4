// Names that did not get what was sent for them: what stands there is not what their other names are to be.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "transfer/landing/name_set.hpp"

namespace udtx::transfer {

/// Of the writer's thread and the committer's. It is asked once all files are under their names; what fails from then
/// on are links, of which nothing is another name.
class FailedNames {
  public:
    void add(std::string_view path) {
        const std::lock_guard lock(mutex_);
        if (!asked_) names_.add(path);
    }
    /// Also where there were too many to know.
    [[nodiscard]] bool may_have(std::string_view path) {
        const std::lock_guard lock(mutex_);
        asked_ = true;
        return names_.full() || names_.has(path);
    }
    [[nodiscard]] std::uint64_t held() const {
        const std::lock_guard lock(mutex_);
        return names_.held();
    }

  private:
    mutable std::mutex mutex_;
    NameSet names_;
    bool asked_ = false;
};

}  // namespace udtx::transfer
