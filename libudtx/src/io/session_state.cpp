#include "io/session_state.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "io/connector.hpp"
#include "udtx/core/endpoint.hpp"
#include "wire/cursor.hpp"

namespace udtx::io {
namespace {

constexpr std::size_t kPathEvents = 256;  // limits the memory if a path flaps and the program does not read the events

Error to_error(const proto::CloseReason& reason) {
    if (reason.orderly()) {
        return {ErrorCode::interrupted, reason.by_peer ? "the peer closed the session" : "the session was closed"};
    }
    const std::string text = reason.message.empty() ? "the connection ended" : reason.message;
    Error error{reason.code, reason.by_peer ? "the peer says: " + text : text};
    if (reason.application) error.application_code = reason.wire_code;
    return error;
}

/// A caller waits for this error, so it must also work without memory.
Error end_for(const proto::CloseReason& reason) {
    try {
        return to_error(reason);
    } catch (const std::exception& failed) {
        return {reason.orderly() ? ErrorCode::interrupted : reason.code, describe_lack(failed)};
    }
}

std::uint64_t sendable(std::uint64_t code) { return std::min(code, wire::kVarintMax); }

}  // namespace

Error SessionState::closed_here() noexcept {
    try {
        return {ErrorCode::interrupted, "the session was closed on this side"};
    } catch (const std::exception&) {
        return {ErrorCode::interrupted, "closed here"};
    }
}

bool SessionState::flush() {
    if (!std::exchange(wake_due_, false)) return false;
    const auto waker = waker_;
    const Unlock unlock(mutex_);
    if (waker && *waker) (*waker)();
    return true;
}

Result<void> SessionState::ask_for(Request request) {
    if (forked()) return ForkGuard::error();
    const Lock lock(mutex_);
    if (over()) return end_;
    requests_.push_back(std::move(request));
    wake_due_ = true;
    flush();
    return {};
}

/// Runs the attempts of waiting calls again when a scope ends, also after an exception. Make it before the Lock.
struct SessionState::Settling {
    explicit Settling(SessionState& session) : state(session) {}
    ~Settling() { state.settle(); }
    Settling(const Settling&) = delete;
    Settling& operator=(const Settling&) = delete;

    SessionState& state;
};

// --- user threads

Attempted<void> SessionState::try_connected() {
    if (over()) return Result<void>(end_);
    if (life_ == Life::connected) return Result<void>();
    return std::nullopt;
}

Attempted<void> SessionState::try_closed() {
    if (!over()) return std::nullopt;
    const auto& why = close_reason_;
    const bool wanted = why && (why->orderly() || (why->application && !why->by_peer));
    return wanted ? Result<void>() : Result<void>(end_);
}

Attempted<PathEvent> SessionState::try_path_event() {
    if (!path_events_.empty() && life_ != Life::closed) {
        PathEvent event = path_events_.front();
        path_events_.pop_front();
        return Result<PathEvent>(std::move(event));
    }
    if (over()) return Result<PathEvent>(end_);
    return std::nullopt;
}

Attempted<ConnectionStats> SessionState::try_stats(Question<ConnectionStats>& question) {
    if (over() && last_stats_) return Result<ConnectionStats>(*last_stats_);
    auto answer = try_ask(question);
    if (answer && *answer) last_stats_ = **answer;
    return answer;
}

Result<SessionState::StreamPtr> SessionState::open_now(StreamKind kind, Instant, proto::Connection& connection) {
    const auto opened = connection.open_stream(kind);
    if (!opened) return opened.error();
    auto stream = add(*opened);
    if (kind == StreamKind::unordered) {
        stream->fail_reading({ErrorCode::invalid_argument, "only the opener of an unordered stream can send on it"});
    }
    return stream;
}

SessionState::Question<SessionState::StreamPtr> SessionState::opening(StreamKind kind) {
    return {.ask = std::bind_front(&SessionState::open_now, this, kind)};
}

Attempted<SessionState::StreamPtr> SessionState::try_accept(StreamKind kind) {
    const auto found = std::ranges::find_if(acceptable_, [kind](const auto& one) { return one->id.kind() == kind; });
    if (life_ != Life::closed && found != acceptable_.end()) {
        StreamPtr stream = std::move(*found);
        acceptable_.erase(found);
        stream->accepted = true;
        wake_due_ = true;
        return Result<StreamPtr>(std::move(stream));
    }
    if (over()) return Result<StreamPtr>(end_);
    return std::nullopt;
}

Attempted<void> SessionState::try_finish(const StreamPtr& stream) {
    if (stream->writing == SessionStream::Writing::open && !over()) {
        stream->writing.enter(SessionStream::Writing::finishing);
        wake_due_ = true;
    }
    if (stream->writing == SessionStream::Writing::delivered) return Result<void>();
    if (stream->writing == SessionStream::Writing::failed) return Result<void>(stream->write_error);
    if (over()) return Result<void>(end_);
    return std::nullopt;
}

void SessionState::stop_connecting() {
    if (forked()) return;
    const Settling settling(*this);
    const Lock lock(mutex_);
    if (life_ != Life::connecting) return;
    life_.enter(Life::ended);
    end_ = cancelled();
    close_reason_ = CloseReason{.code = end_.code, .application = true, .wire_code = 0, .message = {}};
}

void SessionState::close(std::uint64_t code, std::string reason) {
    if (forked()) return;
    const Settling settling(*this);
    const Lock lock(mutex_);
    if (life_ == Life::closed) return;
    if (!over()) {
        end_ = closed_here();
        close_reason_ = CloseReason{.code = ErrorCode::interrupted,
                                    .application = true,
                                    .wire_code = sendable(code),
                                    .message = std::move(reason)};
    }
    life_.enter(Life::closed);
    wake_due_ = true;
}

void SessionState::reset(SessionStream& stream, std::uint64_t code) {
    if (forked()) return;
    const Settling settling(*this);
    const Lock lock(mutex_);
    if (over() || stream.writing >= SessionStream::Writing::delivered) return;
    stream.fail_writing({ErrorCode::interrupted, "the stream was reset on this side", 0, code});
    stream.reset_due = sendable(code);
    wake_due_ = true;
}

void SessionState::stop_receiving(SessionStream& stream, std::uint64_t code) {
    if (forked()) return;
    const Settling settling(*this);
    const Lock lock(mutex_);
    if (over() || stream.reading == SessionStream::Reading::failed) return;
    stream.fail_reading({ErrorCode::interrupted, "the stream was stopped on this side", 0, code});
    stream.stop_due = sendable(code);
    wake_due_ = true;
}

void SessionState::abandon(SessionStream& stream) {
    if (forked()) return;
    const Lock lock(mutex_);
    stream.abandoned = true;
    if (stream.writing == SessionStream::Writing::open) stream.writing.enter(SessionStream::Writing::finishing);
    if (over()) return;
    const bool unread = !stream.pieces.empty() || stream.release_due > 0;
    if (stream.reading == SessionStream::Reading::open || (stream.reading == SessionStream::Reading::ended && unread)) {
        stream.stop_due = 0;
    }
    wake_due_ = true;
    flush();
}

Result<void> SessionState::set_max_rate(Rate rate) {
    if (auto good = proto::check_cap(rate, "set_max_rate: the rate"); !good) return good;
    return ask_for([rate](Instant, proto::Connection& connection) { connection.set_max_rate(rate); });
}

Result<void> SessionState::set_peer_rate(Rate rate) {
    if (auto good = proto::check_cap(rate, "set_peer_rate: the rate"); !good) return good;
    return ask_for([rate](Instant, proto::Connection& connection) { connection.set_peer_rate(rate); });
}

// --- protocol thread

void SessionState::note_peer(const proto::Connection& connection) {
    remote_ = connection.remote();
    const auto key = connection.peer_key();
    if (key.size() != sizeof(PublicKey::bytes)) return;
    std::copy(key.begin(), key.end(), peer_key_.emplace().bytes.begin());
}

void SessionState::attach(proto::Waker waker, const proto::Connection& connection) {
    auto shared = std::make_shared<const proto::Waker>(std::move(waker));
    const Lock lock(mutex_);
    waker_ = std::move(shared);
    note_peer(connection);
    wake_due_ = true;  // for requests made before
    flush();
}

void SessionState::attach_connector(proto::Waker waker) {
    auto shared = std::make_shared<const proto::Waker>(std::move(waker));
    const Lock lock(mutex_);
    if (!waker_) waker_ = std::move(shared);
}

void SessionState::log_paths_to(LogSink log, std::string whose) {
    log_ = std::move(log);
    whose_ = std::move(whose);
}

void SessionState::on_event(Instant, proto::Connection& connection, const proto::Event& event) {
    log_paths(log_, whose_, true, event);
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        bytes_came_ = true;
        const Lock lock(mutex_);
        return handle(connection, *readable);
    }
    const Settling settling(*this);
    std::visit(
        [&](const auto& what) {
            const Lock lock(mutex_);
            handle(connection, what);
        },
        event);
}

void SessionState::on_turn_end() {
    if (std::exchange(bytes_came_, false)) settle();
}

bool SessionState::set_peer_addresses(std::vector<Address> addresses) {
    const Lock lock(mutex_);
    peer_addresses_ = std::move(addresses);
    return !over();
}

void SessionState::fail(Error why) {
    const Settling settling(*this);
    const Lock lock(mutex_);
    if (!over()) {
        life_.enter(Life::ended);
        end_ = std::move(why);
    }
    waker_ = nullptr;
}

void SessionState::on_wake(Instant now, proto::Connection& connection) {
    const Settling settling(*this);
    const Lock lock(mutex_);
    if (life_ == Life::closed) {
        last_stats_ = connection.stats();
        connection.close(now, close_reason_->wire_code, close_reason_->message);
    } else if (!over()) {
        for (const auto& request : std::exchange(requests_, {})) request(now, connection);
        // serve() may remove this stream, but no other.
        for (auto at = streams_.begin(); at != streams_.end();) {
            const StreamPtr stream = (at++)->second;
            serve(connection, *stream);
        }
    }
}

void SessionState::handle(proto::Connection& connection, const proto::event::Connected&) {
    if (life_ == Life::connecting) life_.enter(Life::connected);
    note_peer(connection);  // with several candidates, the one that answered
}

void SessionState::handle(proto::Connection& connection, const proto::event::PeerMoved&) {
    remote_ = connection.remote();
}

void SessionState::handle(proto::Connection& connection, const proto::event::PathChanged& event) {
    if (path_events_.size() == kPathEvents) path_events_.pop_front();
    path_events_.push_back(event);
    remote_ = connection.remote();
}

void SessionState::handle(proto::Connection& connection, const proto::event::Closed& event) {
    if (!over()) {
        life_.enter(Life::ended);
        end_ = end_for(event.reason);
        close_reason_ = event.reason;
    }
    waker_ = nullptr;
    last_stats_ = connection.stats();
    // Bytes received before the end stay readable; flow control bounds them.
    if (life_ != Life::closed) {
        for (const auto& [id, stream] : streams_) {
            stream->accepted = true;
            pump_in(connection, *stream, SIZE_MAX);
        }
    }
    streams_.clear();
    requests_.clear();
}

}  // namespace udtx::io
