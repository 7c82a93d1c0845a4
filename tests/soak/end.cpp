#include "soak/end.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "sim/event_queue.hpp"

namespace udtx::soak {
namespace {

constexpr Duration kReadEvery = std::chrono::milliseconds(20);
constexpr Duration kOpenAgain = std::chrono::milliseconds(100);
constexpr std::uint64_t kCancelled = 7;
constexpr std::size_t kManyStreams = 8;

template <class Streams>
auto* find(Streams& streams, StreamId id) {
    const auto found = std::ranges::find_if(streams, [id](const auto& s) { return s.id == id; });
    return found == streams.end() ? nullptr : &*found;
}

}  // namespace

End::Stream* End::ours(StreamId id) { return find(sends_, id); }

End::Stream* End::theirs(StreamId id) {
    if (id.opener() == role_ || !client_) return nullptr;
    if (Stream* known = find(receives_, id)) return known;
    AttemptPtr attempt = work_.find(*client_, id);
    if (!attempt) {
        work_.violation("a stream came that nobody has opened: " + std::to_string(id.value));
        return nullptr;
    }
    receives_.push_back({id, std::move(attempt)});
    return &receives_.back();
}

void End::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (!client_) client_ = connection.local_id();
    if (std::holds_alternative<proto::event::Connected>(event)) {
        begin_due(now, connection);
    } else if (const auto* writable = std::get_if<proto::event::Writable>(&event)) {
        if (Stream* s = ours(writable->id)) fill(now, connection, *s);
    } else if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        if (readable->id.opener() == role_) {
            drain_answer(connection, readable->id);
        } else if (Stream* s = theirs(readable->id)) {
            s->attempt->readable = true;
            if (s->attempt->what->reader_speed == 0) {
                read(now, connection, *s, UINT64_MAX);
            } else if (!next_read_) {
                next_read_ = now + kReadEvery;
            }
        }
    } else if (const auto* received = std::get_if<proto::event::StreamReceived>(&event)) {
        if (Stream* s = theirs(received->id)) work_.completed(now, *s->attempt, received->size);
    } else if (const auto* delivered = std::get_if<proto::event::StreamDelivered>(&event)) {
        if (Stream* s = ours(delivered->id)) work_.delivered(now, *s->attempt);
    } else if (const auto* reset = std::get_if<proto::event::StreamReset>(&event)) {
        Stream* s = theirs(reset->id);
        if (s != nullptr && !s->attempt->given_up) work_.violation("a stream was reset that nobody has given up");
        end_answer(connection, reset->id);
    } else if (const auto* stopped = std::get_if<proto::event::StreamStopped>(&event)) {
        if (Stream* s = ours(stopped->id)) {
            if (!s->attempt->given_up) work_.violation("a stream was stopped that nobody has stopped");
            connection.reset_stream(stopped->id, stopped->code);
        }
    }
    schedule(now);
}

void End::begin_due(Instant now, proto::Connection& connection) {
    next_begin_.reset();
    if (retired_) return;
    if (const auto start = work_.next_start(role_, now - sim::kStart)) next_begin_ = sim::kStart + *start;
    for (const std::size_t task : work_.due(role_, now - sim::kStart)) {
        const auto opened = connection.open_stream(work_.task(task).kind);
        if (!opened) {
            next_begin_ = now + kOpenAgain;
            return;
        }
        sends_.push_back({*opened, work_.begin(task, *client_, *opened)});
        Stream stream = sends_.back();
        fill(now, connection, stream);
    }
}

void End::fill(Instant now, proto::Connection& connection, Stream& stream) {
    Attempt& a = *stream.attempt;
    const Task& task = *a.what;
    while (!a.given_up && a.written < a.size) {
        if (task.pause > Duration{} && now < a.next_write) return;
        const std::uint64_t room = connection.write_capacity(stream.id);
        a.paused = false;
        if (room == 0) return;
        const auto size = static_cast<std::size_t>(std::min({room, a.size - a.written, task.chunk}));
        const std::uint64_t at = a.written;
        a.written += size;  // count first: the bytes may arrive during the write
        if (!connection.write(stream.id, Work::content(a.task, at, size))) {
            work_.violation("task " + std::to_string(a.task) + ": a write within the capacity was refused");
            return;
        }
        if (task.pause > Duration{}) {
            a.next_write = now + task.pause;
            a.paused = true;
            if (!next_write_ || a.next_write < *next_write_) next_write_ = a.next_write;
        }
        if (task.reset_at && a.written >= *task.reset_at) {
            work_.give_up(now, a);
            connection.reset_stream(stream.id, kCancelled);
            return;
        }
    }
    if (a.given_up || a.finished) return;
    a.finished = true;
    if (!connection.finish(stream.id)) work_.violation("a stream could not be finished");
}

void End::wind_down(Instant now, proto::Connection& connection) {
    for (Stream& s : sends_) {
        Attempt& a = *s.attempt;
        if (a.finished || a.given_up) continue;
        a.size = a.written;
        fill(now, connection, s);
    }
}

void End::on_wake(Instant now, proto::Connection& connection) {
    if (wake_ && now >= *wake_) wake_.reset();
    if (!connection.connected()) return schedule(now);
    if (next_begin_ && now >= *next_begin_) begin_due(now, connection);
    if (next_write_ && now >= *next_write_) write_on(now, connection);
    if (next_read_ && now >= *next_read_) {
        next_read_.reset();
        read_slowly(now, connection);
    }
    forget_done();
    schedule(now);
}

void End::write_on(Instant now, proto::Connection& connection) {
    next_write_.reset();
    for (Stream& s : sends_) {
        Attempt& a = *s.attempt;
        if (!a.paused || a.given_up || a.finished) continue;
        if (now >= a.next_write) fill(now, connection, s);
        if (a.paused && (!next_write_ || a.next_write < *next_write_)) next_write_ = a.next_write;
    }
}

void End::forget_done() {
    std::erase_if(sends_, [](const Stream& s) { return s.attempt->delivered; });
    std::erase_if(receives_, [](const Stream& s) { return s.attempt->complete && s.attempt->held == 0; });
}

void End::on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    Stream* s = theirs(id);
    if (s == nullptr) return;
    work_.take(work_.now(), *s->attempt, offset, bytes);
    s->attempt->held += bytes.size();
    held_ += bytes.size();
    most_held_ = std::max(most_held_, held_);
    if (s->attempt->what->reader_speed == 0) {
        if (touched_.empty() || touched_.back() != id) touched_.push_back(id);
    } else if (!next_read_) {
        next_read_ = work_.now() + kReadEvery;
    }
}

void End::on_tick(Instant now, proto::Connection& connection) {
    for (const StreamId id : touched_) {
        Stream* s = theirs(id);
        if (s == nullptr || s->attempt->held == 0) continue;
        connection.release_pieces(id, s->attempt->held);
        held_ -= s->attempt->held;
        s->attempt->held = 0;
        stop_if_due(now, connection, *s);
    }
    touched_.clear();
    if (receives_.size() > kManyStreams || sends_.size() > kManyStreams) forget_done();
    schedule(now);
}

void End::read_slowly(Instant now, proto::Connection& connection) {
    for (Stream& s : receives_) {
        Attempt& a = *s.attempt;
        if (a.what->reader_speed == 0) continue;
        const std::uint64_t budget =
            1 + a.what->reader_speed * static_cast<std::uint64_t>(kReadEvery.count()) / 1'000'000'000U;
        const std::uint64_t n = std::min(budget, a.held);
        if (n > 0) {
            a.held -= n;
            held_ -= n;
            connection.release_pieces(s.id, n);
            stop_if_due(now, connection, s);
        }
        if (a.readable) read(now, connection, s, budget);
        if ((a.held > 0 || a.readable) && !next_read_) next_read_ = now + kReadEvery;
    }
}

void End::read(Instant now, proto::Connection& connection, Stream& stream, std::uint64_t at_most) {
    Attempt& a = *stream.attempt;
    scratch_.resize(64U << 10U);
    while (at_most > 0) {
        const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(at_most, scratch_.size()));
        const auto got = connection.read(stream.id, std::span(scratch_).first(want));
        if (got.bytes > 0) work_.take(now, a, a.ordered_offset, std::span<const std::byte>(scratch_).first(got.bytes));
        a.ordered_offset += got.bytes;
        at_most -= got.bytes;
        if (got.end && !a.complete && !a.given_up) {
            work_.completed(now, a, a.ordered_offset);
            end_answer(connection, stream.id);
        }
        if (got.bytes == 0) {
            a.readable = false;
            break;
        }
    }
    stop_if_due(now, connection, stream);
}

/// The return direction of an ordered stream carries no data. The stream counts as open until this direction has an end
/// too.
void End::end_answer(proto::Connection& connection, StreamId id) {
    if (id.kind() == StreamKind::ordered) (void)connection.finish(id);
}

/// Reads the return direction of an ordered stream, which has an end and no bytes.
void End::drain_answer(proto::Connection& connection, StreamId id) {
    std::array<std::byte, 16> in{};
    if (connection.read(id, in).bytes > 0) work_.violation("bytes came back that nobody has written");
}

void End::stop_if_due(Instant now, proto::Connection& connection, const Stream& stream) {
    Attempt& a = *stream.attempt;
    if (!a.what->stop_at || a.complete || a.given_up || a.got.total() < *a.what->stop_at) return;
    work_.give_up(now, a);
    connection.stop_receiving(stream.id, kCancelled);
    end_answer(connection, stream.id);
}

void End::schedule(Instant now) {
    std::optional<Instant> next;
    for (const auto& at : {next_begin_, next_write_, next_read_}) {
        if (at && (!next || *at < *next)) next = at;
    }
    if (!next || (wake_ && *wake_ <= *next)) return;
    wake_ = std::max(*next, now);
    wake_at(*wake_);
}

}  // namespace udtx::soak
