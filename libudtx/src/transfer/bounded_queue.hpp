// Queue between a job's threads, with a bound on the sum of its elements' costs. Nobody waits in it: whoever finds it
// empty or full rests, and is called when that has changed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace udtx::transfer {

template <class T>
class BoundedQueue {
  public:
    explicit BoundedQueue(std::size_t max_cost) : max_cost_(max_cost) {}

    /// `filled`: something is in it after it was empty, or it was closed. `room`: it is full no more, or was closed.
    /// Any thread that uses the queue. Before the first use.
    void call(std::function<void()> filled, std::function<void()> room) {
        filled_ = std::move(filled);
        room_ = std::move(room);
    }

    /// Its producer adds what it has begun, and begins nothing while the queue is full(). False: closed, the element is
    /// dropped.
    bool push(T value, std::size_t cost) {
        bool was_empty = false;
        {
            const std::lock_guard lock(mutex_);
            if (closed_) return false;
            was_empty = items_.empty();
            items_.emplace_back(std::move(value), cost);
            cost_ += cost;
        }
        if (was_empty && filled_) filled_();
        return true;
    }
    std::optional<T> try_pop() {
        std::optional<T> value;
        bool was_full = false;
        {
            const std::lock_guard lock(mutex_);
            if (items_.empty()) return std::nullopt;
            was_full = cost_ >= max_cost_;
            value.emplace(std::move(items_.front().first));
            cost_ -= items_.front().second;
            items_.pop_front();
            was_full = was_full && cost_ < max_cost_;
        }
        if (was_full && room_) room_();
        return value;
    }
    /// No more pushes; what is in the queue can still be taken.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        tell_all();
    }
    /// As close(), and what is in the queue is dropped.
    void cancel() {
        std::deque<std::pair<T, std::size_t>> dropped;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            dropped.swap(items_);
            cost_ = 0;
        }
        tell_all();
    }
    [[nodiscard]] bool full() const {
        const std::lock_guard lock(mutex_);
        return !closed_ && cost_ >= max_cost_;
    }
    [[nodiscard]] bool closed() const {
        const std::lock_guard lock(mutex_);
        return closed_;
    }
    /// Closed, and all of it was taken.
    [[nodiscard]] bool over() const {
        const std::lock_guard lock(mutex_);
        return closed_ && items_.empty();
    }
    [[nodiscard]] std::size_t cost() const {
        const std::lock_guard lock(mutex_);
        return cost_;
    }
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return items_.size();
    }

  private:
    void tell_all() {
        if (filled_) filled_();
        if (room_) room_();
    }

    std::function<void()> filled_;
    std::function<void()> room_;
    mutable std::mutex mutex_;
    std::deque<std::pair<T, std::size_t>> items_;
    const std::size_t max_cost_;
    std::size_t cost_ = 0;
    bool closed_ = false;
};

}  // namespace udtx::transfer
