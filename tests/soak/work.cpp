#include "soak/work.hpp"

#include <algorithm>
#include <cstdio>

namespace udtx::soak {
namespace {

/// Each task uses its own part of the pattern.
std::uint64_t place(std::size_t task, std::uint64_t offset) noexcept { return offset + task * 7919U; }

}  // namespace

Chunk Work::content(std::size_t task, std::uint64_t offset, std::size_t size) {
    return sim::pattern::chunk(place(task, offset), size);
}

bool Work::open(std::size_t task, Role from) const {
    const State& state = states_[task];
    return tasks_[task].from == from && !state.dropped && !(state.attempt && state.attempt->over());
}

std::vector<std::size_t> Work::due(Role from, Duration elapsed) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (open(i, from) && !states_[i].attempt && tasks_[i].start <= elapsed) out.push_back(i);
    }
    return out;
}

std::optional<Duration> Work::next_start(Role from, Duration elapsed) const {
    std::optional<Duration> out;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (!open(i, from) || states_[i].attempt || tasks_[i].start <= elapsed) continue;
        if (!out || tasks_[i].start < *out) out = tasks_[i].start;
    }
    return out;
}

AttemptPtr Work::begin(std::size_t task, ConnectionId client, StreamId stream) {
    auto attempt = std::make_shared<Attempt>();
    attempt->task = task;
    attempt->what = &tasks_[task];
    attempt->size = tasks_[task].bytes;
    states_[task].attempt = attempt;
    streams_[{client, stream.value}] = attempt;
    return attempt;
}

AttemptPtr Work::find(ConnectionId client, StreamId stream) const {
    const auto found = streams_.find({client, stream.value});
    return found == streams_.end() ? nullptr : found->second;
}

void Work::moved(Instant now, const Attempt& attempt) { moved_[index(attempt.what->from)] = now; }

void Work::take(Instant now, Attempt& attempt, std::uint64_t offset, std::span<const std::byte> bytes) {
    const std::string name = "task " + std::to_string(attempt.task) + ", offset " + std::to_string(offset) + ": ";
    if (offset + bytes.size() > attempt.written) violation(name + "bytes that nobody has written");
    if (!sim::pattern::matches(place(attempt.task, offset), bytes)) violation(name + "wrong bytes");
    if (!attempt.got.add(offset, bytes.size())) violation(name + "bytes came twice");
    bytes_ += bytes.size();
    moved(now, attempt);
    const std::int64_t second = (now - sim::kStart) / std::chrono::seconds(1);
    if (second != second_) ++moving_seconds_;
    second_ = second;
}

void Work::completed(Instant now, Attempt& attempt, std::uint64_t size) {
    const std::string name = "task " + std::to_string(attempt.task) + ": ";
    if (!attempt.finished || size != attempt.size) violation(name + "received an end that nobody has set");
    if (!attempt.got.complete(size)) violation(name + "called complete, and bytes are missing");
    attempt.complete = true;
    moved(now, attempt);
}

void Work::delivered(Instant now, Attempt& attempt) {
    const std::string name = "task " + std::to_string(attempt.task) + ": ";
    if (!attempt.finished) violation(name + "delivered before its end was written");
    // The last bytes of an ordered stream may still wait for their reader.
    const bool unordered = attempt.what->kind == StreamKind::unordered;
    if (unordered && !attempt.got.complete(attempt.size) && !attempt.given_up) {
        violation(name + "delivered, and bytes are missing");
    }
    attempt.delivered = true;
    moved(now, attempt);
}

void Work::give_up(Instant now, Attempt& attempt) {
    attempt.given_up = true;
    moved(now, attempt);
}

void Work::abandon_attempts() {
    for (State& state : states_) {
        if (state.attempt && !state.attempt->over()) state.attempt.reset();
        if (winding_down_ && !state.attempt) state.dropped = true;
    }
}

void Work::wind_down() {
    winding_down_ = true;
    for (State& state : states_) {
        if (!state.attempt) state.dropped = true;
    }
}

bool Work::done() const {
    return std::ranges::all_of(states_, [](const State& s) { return s.dropped || (s.attempt && s.attempt->over()); });
}

bool Work::pending(Role from, Duration elapsed) const {
    bool waits = false;  // a task waits for a stream, as the peer limits their number
    bool open_one = false;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (!open(i, from) || tasks_[i].start > elapsed) continue;
        const AttemptPtr& attempt = states_[i].attempt;
        waits = waits || !attempt;
        if (!attempt) continue;
        open_one = true;
        if (attempt->finished || !attempt->paused || attempt->got.total() < attempt->written) return true;
    }
    return waits && !open_one;
}

Duration Work::reading_time(Role from, std::uint64_t window) const {
    double out = 0.0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        const auto speed = static_cast<double>(tasks_[i].reader_speed);
        if (speed > 0.0 && open(i, from)) out += static_cast<double>(window) / speed + 0.1;
    }
    return Dice::seconds(out);
}

std::uint64_t Work::under_way() const {
    std::uint64_t out = 0;
    for (const State& s : states_) {
        if (s.attempt && !s.attempt->over())
            out += s.attempt->written - std::min(s.attempt->written, s.attempt->got.total());
    }
    return out;
}

void Work::violation(std::string what) {
    constexpr std::size_t kEnough = 10;
    if (violations_.size() < kEnough) violations_.push_back(std::move(what));
}

std::string Work::state() const {
    std::string out;
    std::size_t told = 0;
    for (std::size_t i = 0; i < tasks_.size() && told < 20; ++i) {
        const State& s = states_[i];
        if (s.dropped || (s.attempt && s.attempt->over())) continue;
        ++told;
        char line[200];
        if (!s.attempt) {
            std::snprintf(line, sizeof line, "  open: task %zu, no stream\n", i);
        } else {
            const Attempt& a = *s.attempt;
            std::snprintf(line, sizeof line, "  open: task %zu, written %llu of %llu%s, got %llu in %zu pieces%s%s%s\n",
                          i, static_cast<unsigned long long>(a.written), static_cast<unsigned long long>(a.size),
                          a.finished ? " and the end" : (a.paused ? ", paused" : ""),
                          static_cast<unsigned long long>(a.got.total()), a.got.pieces(),
                          a.complete ? ", complete" : "", a.delivered ? ", delivered" : "",
                          a.readable ? ", readable" : "");
        }
        out += line;
    }
    return out;
}

}  // namespace udtx::soak
