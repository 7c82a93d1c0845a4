// A queue between the threads of a job. The sum of its elements' costs is bounded. No call blocks: a thread that finds
// the queue empty or full rests, and a callback wakes it when that changes.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "base/thread_safety.hpp"

namespace udtx::transfer {

template <class T>
class BoundedQueue {
  public:
    explicit BoundedQueue(std::size_t max_cost) : max_cost_(max_cost) {}

    /// Sets the callbacks; call it before the first use. `filled` runs when an empty queue gets an element, `room` when
    /// a full queue gets room. Both also run when the queue is closed. They run on whichever thread uses the queue.
    void call(std::function<void()> filled, std::function<void()> room) {
        filled_ = std::move(filled);
        room_ = std::move(room);
    }

    /// The producer starts no new element while the queue is full(), but pushes the ones that it has started. False:
    /// the queue is closed and the element is dropped.
    bool push(T value, std::size_t cost) {
        bool was_empty = false;
        {
            const Lock lock(mutex_);
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
            const Lock lock(mutex_);
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
    /// Refuses further pushes; the elements in the queue can still be popped.
    void close() {
        {
            const Lock lock(mutex_);
            closed_ = true;
        }
        tell_all();
    }
    /// Does the same as close() and drops the elements in the queue.
    void cancel() {
        std::deque<std::pair<T, std::size_t>> dropped;
        {
            const Lock lock(mutex_);
            closed_ = true;
            dropped.swap(items_);
            cost_ = 0;
        }
        tell_all();
    }
    [[nodiscard]] bool full() const {
        const Lock lock(mutex_);
        return !closed_ && cost_ >= max_cost_;
    }
    [[nodiscard]] bool closed() const {
        const Lock lock(mutex_);
        return closed_;
    }
    /// True if the queue is closed and empty.
    [[nodiscard]] bool over() const {
        const Lock lock(mutex_);
        return closed_ && items_.empty();
    }
    [[nodiscard]] std::size_t cost() const {
        const Lock lock(mutex_);
        return cost_;
    }
    [[nodiscard]] std::size_t size() const {
        const Lock lock(mutex_);
        return items_.size();
    }

  private:
    void tell_all() {
        if (filled_) filled_();
        if (room_) room_();
    }

    std::function<void()> filled_;
    std::function<void()> room_;
    mutable Mutex mutex_;
    std::deque<std::pair<T, std::size_t>> items_ GUARDED_BY(mutex_);
    const std::size_t max_cost_;
    std::size_t cost_ GUARDED_BY(mutex_) = 0;
    bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace udtx::transfer
