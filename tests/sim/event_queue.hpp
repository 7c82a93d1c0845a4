// Virtual clock and future events: a binary heap of (time, order of scheduling).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "udtx/rate.hpp"

namespace udtx::sim {

class EventSink {
  public:
    virtual ~EventSink() = default;
    virtual void on_due(Instant now, std::uint64_t tag) = 0;
};

/// Virtual time starts well after the epoch. This exposes code that takes 0 for "never".
inline constexpr Instant kStart{std::chrono::hours(1)};

class EventQueue final : EventSink {
  public:
    [[nodiscard]] Instant now() const noexcept { return now_; }
    [[nodiscard]] std::uint64_t processed() const noexcept { return processed_; }
    [[nodiscard]] std::optional<Instant> next() const noexcept;

    /// Runs events of equal time in the order in which they were scheduled. A time in the past counts as now.
    void schedule(Instant at, EventSink& sink, std::uint64_t tag) { schedule(at, take_turn(), sink, tag); }
    /// The same in two steps. A caller takes a turn now and schedules the event later, before it is due; the event
    /// keeps that turn.
    [[nodiscard]] std::uint64_t take_turn() noexcept { return order_++; }
    void schedule(Instant at, std::uint64_t turn, EventSink& sink, std::uint64_t tag);
    void call_at(Instant at, std::function<void()> action);

    /// Runs the next event. Returns false if the queue is empty.
    bool step();
    /// Runs all events up to and including `until` and sets the clock to it.
    void run_until(Instant until);

  private:
    struct Entry {
        Instant at;
        std::uint64_t order;
        EventSink* sink;
        std::uint64_t tag;
    };
    struct Later {
        bool operator()(const Entry& a, const Entry& b) const noexcept {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };
    void on_due(Instant now, std::uint64_t tag) override;

    Instant now_ = kStart;
    std::uint64_t order_ = 0;
    std::uint64_t processed_ = 0;
    std::vector<Entry> heap_;
    std::unordered_map<std::uint64_t, std::function<void()>> actions_;
    std::uint64_t next_action_ = 0;
};

}  // namespace udtx::sim
