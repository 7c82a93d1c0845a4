// Finds the number in a set that was used longest ago.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace udtx::transfer {

class UseOrder {
  public:
    /// Adds `number`, or marks it as the one used last.
    void touch(std::uint64_t number) {
        const auto [at, added] = places_.try_emplace(number);
        if (added) {
            at->second = order_.insert(order_.end(), number);
        } else {
            order_.splice(order_.end(), order_, at->second);
        }
    }
    void forget(std::uint64_t number) {
        const auto at = places_.find(number);
        if (at == places_.end()) return;
        order_.erase(at->second);
        places_.erase(at);
    }
    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
    /// Call it only if size() > 0.
    [[nodiscard]] std::uint64_t oldest() const { return order_.front(); }

  private:
    std::list<std::uint64_t> order_;
    std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

}  // namespace udtx::transfer
