// The data that the two ends of an episode send to each other: what has arrived, and what was wrong with it. The
// applications of both ends report here. A connection that outlives the restart of its peer's process reports here as
// well.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/pattern.hpp"
#include "soak/plan.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/ids.hpp"

namespace udtx::soak {

/// One stream of one connection: one attempt at a task.
struct Attempt {
    std::size_t task = 0;
    const Task* what = nullptr;
    std::uint64_t size = 0;  ///< of the stream, as far as it is known
    // --- its sender
    std::uint64_t written = 0;
    bool finished = false;
    bool paused = false;
    Instant next_write{};
    bool delivered = false;
    // --- its receiver
    sim::pattern::Ledger got;
    std::uint64_t ordered_offset = 0;
    std::uint64_t held = 0;
    bool readable = false;
    bool complete = false;
    // --- either
    bool given_up = false;

    [[nodiscard]] bool over() const noexcept { return given_up || (delivered && complete); }
};
using AttemptPtr = std::shared_ptr<Attempt>;

class Work {
  public:
    Work(const std::vector<Task>& tasks, const sim::EventQueue& events)
        : tasks_(tasks), events_(events), states_(tasks.size()) {}

    [[nodiscard]] Instant now() const noexcept { return events_.now(); }
    [[nodiscard]] const Task& task(std::size_t number) const { return tasks_[number]; }
    /// The bytes to write for this task at this offset.
    [[nodiscard]] static Chunk content(std::size_t task, std::uint64_t offset, std::size_t size);

    /// Tasks of this end that are due and have no stream yet.
    [[nodiscard]] std::vector<std::size_t> due(Role from, Duration elapsed) const;
    [[nodiscard]] std::optional<Duration> next_start(Role from, Duration elapsed) const;
    /// Registers the stream that the caller has opened for this task.
    AttemptPtr begin(std::size_t task, ConnectionId client, StreamId stream);
    /// Finds a stream by the client's id and its stream id; null if no end opened it.
    [[nodiscard]] AttemptPtr find(ConnectionId client, StreamId stream) const;

    /// Checks received bytes.
    void take(Instant now, Attempt& attempt, std::uint64_t offset, std::span<const std::byte> bytes);
    void completed(Instant now, Attempt& attempt, std::uint64_t size);
    void delivered(Instant now, Attempt& attempt);
    void give_up(Instant now, Attempt& attempt);
    /// The connection is gone: unfinished tasks start again on the next one.
    void abandon_attempts();
    /// From now on no end writes, and no further task starts.
    void wind_down();
    [[nodiscard]] bool winding_down() const noexcept { return winding_down_; }

    [[nodiscard]] bool done() const;
    /// True if that end still has work: bytes to write or to deliver, or a delivery to report.
    [[nodiscard]] bool pending(Role from, Duration elapsed) const;
    /// Time of the last progress of data from that end.
    [[nodiscard]] Instant last_moved(Role from) const noexcept { return moved_[index(from)]; }
    /// Time for which slow readers may hold back the credit of a direction.
    [[nodiscard]] Duration reading_time(Role from, std::uint64_t window) const;
    /// Bytes written and not yet received.
    [[nodiscard]] std::uint64_t under_way() const;
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// Number of seconds of virtual time in which bytes arrived.
    [[nodiscard]] std::uint64_t moving_seconds() const noexcept { return moving_seconds_; }

    void violation(std::string what);
    [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return violations_; }
    [[nodiscard]] std::string state() const;

  private:
    struct State {
        AttemptPtr attempt;
        bool dropped = false;
    };
    [[nodiscard]] static std::size_t index(Role role) noexcept { return static_cast<std::size_t>(role); }
    void moved(Instant now, const Attempt& attempt);
    [[nodiscard]] bool open(std::size_t task, Role from) const;

    const std::vector<Task>& tasks_;
    const sim::EventQueue& events_;
    std::vector<State> states_;
    std::map<std::pair<ConnectionId, std::uint64_t>, AttemptPtr> streams_;
    std::vector<std::string> violations_;
    Instant moved_[2]{};
    std::uint64_t bytes_ = 0;
    std::uint64_t moving_seconds_ = 0;
    std::int64_t second_ = -1;
    bool winding_down_ = false;
};

}  // namespace udtx::soak
