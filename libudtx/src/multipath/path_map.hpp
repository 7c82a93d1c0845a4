// A small value for each path of a connection, by path id. A connection has few paths, so a sorted array is faster than
// a map. After all paths were seen once, it allocates nothing.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "udtx/ids.hpp"

namespace udtx::multipath {

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

}  // namespace udtx::multipath
