// Packets in flight, ordered by delivery time. Packets with equal times keep the order of their insertion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "udtx/rate.hpp"

namespace udtx::wan {

template <class Packet>
class DeliveryQueue {
  public:
    struct Item {
        Instant at;
        Packet packet;
    };

    void push(Instant at, Packet packet) {
        heap_.push_back({at, count_++, std::move(packet)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] Instant next() const { return heap_.empty() ? Instant::max() : heap_.front().at; }
    std::optional<Item> pop_due(Instant now) {
        if (next() > now || heap_.empty()) return std::nullopt;
        std::pop_heap(heap_.begin(), heap_.end(), later);
        Entry entry = std::move(heap_.back());
        heap_.pop_back();
        return Item{entry.at, std::move(entry.packet)};
    }

  private:
    struct Entry {
        Instant at;
        std::uint64_t order;
        Packet packet;
    };
    static bool later(const Entry& a, const Entry& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

    std::vector<Entry> heap_;
    std::uint64_t count_ = 0;
};

}  // namespace udtx::wan
