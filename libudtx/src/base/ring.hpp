// Queue addressed by a growing number: slot = number mod capacity. The capacity doubles when needed and never shrinks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace udtx {

template <class T>
class Ring {
  public:
    explicit Ring(std::uint64_t first = 0) : first_(first), next_(first), slots_(16) {}

    [[nodiscard]] std::uint64_t first() const noexcept { return first_; }  ///< number of the oldest element
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }    ///< number that push_back() will take
    [[nodiscard]] bool empty() const noexcept { return first_ == next_; }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - first_); }
    [[nodiscard]] bool contains(std::uint64_t n) const noexcept { return n >= first_ && n < next_; }

    [[nodiscard]] T& operator[](std::uint64_t n) noexcept { return slots_[index(n)]; }
    [[nodiscard]] const T& operator[](std::uint64_t n) const noexcept { return slots_[index(n)]; }

    void push_back(T value) { push_slot() = std::move(value); }
    /// Returns the slot for the caller to fill in place. It is new, or holds what the last element in it left there.
    [[nodiscard]] T& push_slot() {
        if (size() == slots_.size()) grow();
        return slots_[index(next_++)];
    }
    void pop_front() {
        if constexpr (!std::is_trivially_destructible_v<T>) slots_[index(first_)] = T{};
        ++first_;
    }

  private:
    [[nodiscard]] std::size_t index(std::uint64_t n) const noexcept {
        return static_cast<std::size_t>(n & (slots_.size() - 1));
    }
    void grow() {
        std::vector<T> bigger(slots_.size() * 2);
        for (std::uint64_t n = first_; n != next_; ++n) {
            bigger[static_cast<std::size_t>(n & (bigger.size() - 1))] = std::move(slots_[index(n)]);
        }
        slots_ = std::move(bigger);
    }

    std::uint64_t first_;
    std::uint64_t next_;
    std::vector<T> slots_;
};

}  // namespace udtx
