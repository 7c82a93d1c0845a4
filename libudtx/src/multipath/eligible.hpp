// A rule of all schedulers: standby paths wait until no other path is usable.
#pragma once

#include <algorithm>
#include <span>

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class Eligible {
  public:
    explicit Eligible(std::span<const PathView> paths)
        : standby_(std::none_of(paths.begin(), paths.end(),
                                [](const PathView& path) { return path.usable && !path.standby; })) {}
    /// Data may be assigned to the path, now or later.
    [[nodiscard]] bool usable(const PathView& path) const noexcept { return path.usable && path.standby == standby_; }
    /// A datagram may be sent on the path now.
    [[nodiscard]] bool ready(const PathView& path) const noexcept { return path.may_send && usable(path); }

  private:
    bool standby_;
};

}  // namespace udtx::multipath
