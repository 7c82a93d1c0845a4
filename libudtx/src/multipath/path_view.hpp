// What schedulers know of paths.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "udtx/ids.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

// A small value for each path of a connection, by path id. A connection has few paths, so a sorted array is faster than
// a map. After all paths were seen once, it allocates nothing.

template <class T>
class PathMap {
  public:
    /// Returns the value of the path. A path that was not seen before gets T().
    [[nodiscard]] T& operator[](PathId id) {
        const auto at = place(id);
        if (at != items_.end() && at->first == id) return at->second;
        return items_.emplace(at, id, T())->second;
    }
    [[nodiscard]] const T* find(PathId id) const {
        for (const auto& item : items_) {
            if (item.first == id) return &item.second;
        }
        return nullptr;
    }
    [[nodiscard]] auto begin() noexcept { return items_.begin(); }
    [[nodiscard]] auto end() noexcept { return items_.end(); }
    [[nodiscard]] auto begin() const noexcept { return items_.begin(); }
    [[nodiscard]] auto end() const noexcept { return items_.end(); }
    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }

  private:
    using Items = std::vector<std::pair<PathId, T>>;
    [[nodiscard]] typename Items::iterator place(PathId id) {
        return std::find_if(items_.begin(), items_.end(), [id](const auto& item) { return item.first >= id; });
    }
    Items items_;
};

// A rule of all schedulers: standby paths wait until no other path is usable.

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

// What would happen to a datagram that is assigned to a path now.

struct Forecast {
    double rate = 0.0;   ///< r_i, bytes/s
    double delay = 0.0;  ///< owd_i, s
    double eta = 0.0;    ///< time from now until it arrives, s

    static constexpr double kAssumedRtt = 0.05;  ///< of a path without an RTT sample, s
    static constexpr double kBloatedRtts = 2.5;  ///< ratio of sRTT to base RTT from which the window bounds the rate
};

[[nodiscard]] Forecast forecast(Instant now, const PathView& path);

}  // namespace udtx::multipath
