#include "sim/event_queue.hpp"

#include <algorithm>
#include <utility>

namespace udtx::sim {

std::optional<Instant> EventQueue::next() const noexcept {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().at;
}

void EventQueue::schedule(Instant at, std::uint64_t turn, EventSink& sink, std::uint64_t tag) {
    heap_.push_back({std::max(at, now_), turn, &sink, tag});
    std::push_heap(heap_.begin(), heap_.end(), Later());
}

void EventQueue::call_at(Instant at, std::function<void()> action) {
    actions_.emplace(next_action_, std::move(action));
    schedule(at, *this, next_action_++);
}

void EventQueue::on_due(Instant /*now*/, std::uint64_t tag) {
    auto node = actions_.extract(tag);
    if (!node.empty()) node.mapped()();
}

bool EventQueue::step() {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Entry entry = heap_.back();
    heap_.pop_back();
    now_ = entry.at;
    ++processed_;
    entry.sink->on_due(now_, entry.tag);
    return true;
}

void EventQueue::run_until(Instant until) {
    while (!heap_.empty() && heap_.front().at <= until) step();
    now_ = std::max(now_, until);
}

}  // namespace udtx::sim
