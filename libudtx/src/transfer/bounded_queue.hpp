// Queue between two threads with a bound on the sum of its elements' costs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace udtx::transfer {

template <class T>
class BoundedQueue {
  public:
    explicit BoundedQueue(std::size_t max_cost) : max_cost_(max_cost) {}

    /// Waits for room (an empty queue takes any cost). False: closed, the element is dropped.
    bool push(T value, std::size_t cost) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return closed_ || items_.empty() || cost_ + cost <= max_cost_; });
        return add(std::move(value), cost);
    }
    /// Never waits: for a producer that bounds itself by cost().
    bool push_now(T value, std::size_t cost) {
        const std::unique_lock lock(mutex_);
        return add(std::move(value), cost);
    }
    /// Waits for an element; nullopt when closed and empty.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
        return take();
    }
    std::optional<T> try_pop() {
        const std::unique_lock lock(mutex_);
        return take();
    }
    /// No more pushes; what is in the queue can still be taken.
    void close() {
        const std::unique_lock lock(mutex_);
        closed_ = true;
        filled_.notify_all();
        room_.notify_all();
    }
    /// As close(), and what is in the queue is dropped.
    void cancel() {
        std::deque<std::pair<T, std::size_t>> dropped;
        const std::unique_lock lock(mutex_);
        closed_ = true;
        dropped.swap(items_);
        cost_ = 0;
        filled_.notify_all();
        room_.notify_all();
    }
    [[nodiscard]] bool closed() const {
        const std::unique_lock lock(mutex_);
        return closed_;
    }
    [[nodiscard]] std::size_t cost() const {
        const std::unique_lock lock(mutex_);
        return cost_;
    }
    [[nodiscard]] std::size_t size() const {
        const std::unique_lock lock(mutex_);
        return items_.size();
    }

  private:
    bool add(T value, std::size_t cost) {
        if (closed_) return false;
        items_.emplace_back(std::move(value), cost);
        cost_ += cost;
        if (items_.size() == 1) filled_.notify_one();
        return true;
    }
    std::optional<T> take() {
        if (items_.empty()) return std::nullopt;
        std::optional<T> value(std::move(items_.front().first));
        cost_ -= items_.front().second;
        items_.pop_front();
        room_.notify_one();
        return value;
    }

    mutable std::mutex mutex_;
    std::condition_variable filled_;
    std::condition_variable room_;
    std::deque<std::pair<T, std::size_t>> items_;
    std::size_t max_cost_;
    std::size_t cost_ = 0;
    bool closed_ = false;
};

}  // namespace udtx::transfer
