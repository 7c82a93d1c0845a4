#include "io/session_state.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "io/connector.hpp"
#include "udtx/core/config_check.hpp"
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

// --- waiting calls

bool SessionState::flush(Lock& lock) {
    if (!std::exchange(wake_due_, false)) return false;
    const auto waker = waker_;
    lock.unlock();
    if (waker && *waker) (*waker)();
    lock.lock();
    return true;
}

void SessionState::settle(Lock& lock) noexcept {
    calls_.settle(lock, [this](Lock& held) { return flush(held); });
}

template <class T, class What>
auto SessionState::asking(What what) {
    using Answer = std::optional<Result<T>>;
    return [this, what = std::move(what), answer = std::shared_ptr<Answer>()]() mutable -> Answer {
        if (!answer && !over()) {
            answer = std::make_shared<Answer>();
            requests_.push_back([asked = std::weak_ptr(answer), what](Instant now, proto::Connection& connection) {
                if (const auto wanted = asked.lock()) wanted->emplace(what(now, connection));
            });
            wake_due_ = true;
        }
        if (answer && answer->has_value()) return std::move(*answer);
        if (over()) return Result<T>(*end_);
        return std::nullopt;
    };
}

Result<void> SessionState::ask_for(Request request) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    if (over()) return *end_;
    requests_.push_back(std::move(request));
    wake_due_ = true;
    flush(lock);
    return {};
}

void SessionState::cancel(const SessionStream* stream) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    calls_.cancel(lock, stream, [this](Lock& held) { return flush(held); });
}

void SessionState::cancel(CallId call) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    calls_.cancel(lock, call, [this](Lock& held) { return flush(held); });
}

// --- the session

std::optional<Result<void>> SessionState::try_connected() {
    if (over()) return Result<void>(*end_);
    if (connected_) return Result<void>();
    return std::nullopt;
}

Result<void> SessionState::wait_connected(Timeout timeout) {
    return block<void>(nullptr, timeout, "the handshake did not finish in time", [this] { return try_connected(); });
}

CallId SessionState::start_wait_connected(Callback<void> done) {
    return begin<void>(
        nullptr, [this] { return try_connected(); }, std::move(done));
}

void SessionState::stop_connecting() {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    if (connected_ || over()) return;
    end_ = WaitingCalls::cancelled();
    close_reason_ = CloseReason{.code = end_->code, .application = true, .wire_code = 0, .message = {}};
    settle(lock);
}

std::optional<Result<void>> SessionState::try_closed() {
    if (!over()) return std::nullopt;
    const auto& why = close_reason_;
    const bool wanted = why && (why->orderly() || (why->application && !why->by_peer));
    return wanted ? Result<void>() : Result<void>(*end_);
}

Result<void> SessionState::wait_closed(Timeout timeout) {
    return block<void>(nullptr, timeout, "the session is still open", [this] { return try_closed(); });
}

CallId SessionState::start_wait_closed(Callback<void> done) {
    return begin<void>(
        nullptr, [this] { return try_closed(); }, std::move(done));
}

void SessionState::close(std::uint64_t code, std::string reason) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    if (std::exchange(close_wanted_, true)) return;
    if (!over()) {
        end_ = closed_here();
        close_reason_ = CloseReason{.code = ErrorCode::interrupted,
                                    .application = true,
                                    .wire_code = sendable(code),
                                    .message = std::move(reason)};
    }
    wake_due_ = true;
    settle(lock);
}

Result<ConnectionStats> SessionState::stats() {
    auto ask = asking<ConnectionStats>([this](Instant, const proto::Connection& connection) {
        last_stats_ = connection.stats();
        return Result<ConnectionStats>(*last_stats_);
    });
    return block<ConnectionStats>(nullptr, kForever, "",
                                  [this, ask = std::move(ask)]() mutable -> std::optional<Result<ConnectionStats>> {
                                      if (over() && last_stats_) return Result<ConnectionStats>(*last_stats_);
                                      return ask();
                                  });
}

Result<PathId> SessionState::add_path(const proto::PathAddresses& way) {
    return block<PathId>(nullptr, kForever, "", asking<PathId>([way](Instant now, proto::Connection& connection) {
                             return connection.add_path(now, way.local, way.remote, way.options);
                         }));
}

Result<void> SessionState::remove_path(PathId id) {
    return block<void>(nullptr, kForever, "", asking<void>([id](Instant now, proto::Connection& connection) {
                           return connection.remove_path(now, id);
                       }));
}

std::optional<Result<PathEvent>> SessionState::try_path_event() {
    if (!path_events_.empty() && !close_wanted_) {
        PathEvent event = path_events_.front();
        path_events_.pop_front();
        return Result<PathEvent>(std::move(event));
    }
    if (over()) return Result<PathEvent>(*end_);
    return std::nullopt;
}

Result<PathEvent> SessionState::wait_path_event(Timeout timeout) {
    return block<PathEvent>(nullptr, timeout, "nothing happened to the paths in time",
                            [this] { return try_path_event(); });
}

CallId SessionState::start_wait_path_event(Callback<PathEvent> done) {
    return begin<PathEvent>(
        nullptr, [this] { return try_path_event(); }, std::move(done));
}

Result<void> SessionState::set_max_rate(Rate rate) {
    if (auto good = proto::check_cap(rate, "set_max_rate: the rate"); !good) return good;
    return ask_for([rate](Instant, proto::Connection& connection) { connection.set_max_rate(rate); });
}

Result<void> SessionState::set_peer_rate(Rate rate) {
    if (auto good = proto::check_cap(rate, "set_peer_rate: the rate"); !good) return good;
    return ask_for([rate](Instant, proto::Connection& connection) { connection.set_peer_rate(rate); });
}

Address SessionState::remote() {
    if (fork_guard_.forked()) return {};
    const Lock lock(mutex_);
    return remote_;
}

std::vector<Address> SessionState::dialled() {
    if (fork_guard_.forked()) return {};
    const Lock lock(mutex_);
    return dialled_;
}

std::optional<PublicKey> SessionState::peer_key() {
    if (fork_guard_.forked()) return std::nullopt;
    const Lock lock(mutex_);
    return peer_key_;
}

std::optional<CloseReason> SessionState::close_reason() {
    if (fork_guard_.forked()) return std::nullopt;
    const Lock lock(mutex_);
    return close_reason_;
}

// --- streams

namespace {

template <class Add>
auto opening(StreamKind kind, Add add) {
    return [kind, add](Instant, proto::Connection& connection) -> Result<std::shared_ptr<SessionStream>> {
        const auto opened = connection.open_stream(kind);
        if (!opened) return opened.error();
        auto stream = add(*opened);
        if (kind == StreamKind::placed) {
            stream->read_error =
                Error{ErrorCode::invalid_argument, "only the opener of a placed stream can send on it"};
        }
        return stream;
    };
}

}  // namespace

Result<SessionState::StreamPtr> SessionState::open_stream(StreamKind kind, Timeout timeout) {
    return block<StreamPtr>(nullptr, timeout, "the stream was not opened in time",
                            asking<StreamPtr>(opening(kind, [this](StreamId id) { return streams_.add(id); })));
}

CallId SessionState::start_open_stream(StreamKind kind, Callback<StreamPtr> done) {
    return begin<StreamPtr>(nullptr, asking<StreamPtr>(opening(kind, [this](StreamId id) { return streams_.add(id); })),
                            std::move(done));
}

std::optional<Result<SessionState::StreamPtr>> SessionState::try_accept(StreamKind kind) {
    if (StreamPtr stream = close_wanted_ ? nullptr : streams_.accept(kind)) {
        wake_due_ = true;
        return Result<StreamPtr>(std::move(stream));
    }
    if (over()) return Result<StreamPtr>(*end_);
    return std::nullopt;
}

Result<SessionState::StreamPtr> SessionState::accept_stream(StreamKind kind, Timeout timeout) {
    return block<StreamPtr>(nullptr, timeout, "the peer opened no stream in time",
                            [this, kind] { return try_accept(kind); });
}

CallId SessionState::start_accept_stream(StreamKind kind, Callback<StreamPtr> done) {
    return begin<StreamPtr>(
        nullptr, [this, kind] { return try_accept(kind); }, std::move(done));
}

std::optional<Result<void>> SessionState::try_finish(SessionStream& stream) {
    if (!stream.finish_wanted && !over()) {
        stream.finish_wanted = true;
        wake_due_ = true;
    }
    if (stream.delivered) return Result<void>();
    if (stream.write_error) return Result<void>(*stream.write_error);
    if (over()) return Result<void>(*end_);
    return std::nullopt;
}

Result<void> SessionState::finish(const StreamPtr& stream, Timeout timeout) {
    return block<void>(stream.get(), timeout, "the peer did not acknowledge the end in time",
                       [&] { return try_finish(*stream); });
}

CallId SessionState::start_finish(const StreamPtr& stream, Callback<void> done) {
    return begin<void>(
        stream.get(), [this, stream] { return try_finish(*stream); }, std::move(done));
}

void SessionState::reset(SessionStream& stream, std::uint64_t code) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    if (over() || stream.delivered || stream.write_error) return;
    stream.write_error = Error{ErrorCode::interrupted, "the stream was reset on this side", 0, code};
    stream.drop_outgoing();
    stream.reset_due = sendable(code);
    wake_due_ = true;
    settle(lock);
}

void SessionState::stop_receiving(SessionStream& stream, std::uint64_t code) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    if (over() || stream.read_error) return;
    stream.read_error = Error{ErrorCode::interrupted, "the stream was stopped on this side", 0, code};
    stream.stop_due = sendable(code);
    wake_due_ = true;
    settle(lock);
}

void SessionState::abandon(SessionStream& stream) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    stream.abandoned = true;
    stream.finish_wanted = true;
    if (over()) return;
    const bool more = !stream.ended || !stream.pieces.empty() || stream.release_due > 0;
    if (more && !stream.read_error) stream.stop_due = 0;
    wake_due_ = true;
    flush(lock);
}

// --- protocol thread

/// Runs the attempts of waiting calls again, also after an exception.
struct SessionState::Settling {
    Settling(SessionState& session, Lock& held) : state(session), lock(held) {}
    ~Settling() { state.settle(lock); }
    Settling(const Settling&) = delete;
    Settling& operator=(const Settling&) = delete;

    SessionState& state;
    Lock& lock;
};

void SessionState::note_peer(const proto::Connection& connection) {
    remote_ = connection.remote();
    const auto key = connection.peer_key();
    if (key.size() != sizeof(PublicKey::bytes)) return;
    std::copy(key.begin(), key.end(), peer_key_.emplace().bytes.begin());
}

void SessionState::attach(proto::Waker waker, const proto::Connection& connection) {
    auto shared = std::make_shared<const proto::Waker>(std::move(waker));
    Lock lock(mutex_);
    waker_ = std::move(shared);
    note_peer(connection);
    wake_due_ = true;  // for requests made before
    flush(lock);
}

void SessionState::attach_dialling(proto::Waker waker) {
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
    Lock lock(mutex_);
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        bytes_came_ = true;
        return handle(connection, *readable);
    }
    const Settling settling(*this, lock);
    std::visit([&](const auto& what) { handle(connection, what); }, event);
}

void SessionState::on_turn_end() {
    if (!std::exchange(bytes_came_, false)) return;
    Lock lock(mutex_);
    settle(lock);
}

bool SessionState::set_dialled(std::vector<Address> addresses) {
    const Lock lock(mutex_);
    dialled_ = std::move(addresses);
    return !over();
}

void SessionState::fail(Error why) {
    Lock lock(mutex_);
    const Settling settling(*this, lock);
    if (!over()) end_ = std::move(why);
    waker_ = nullptr;
}

void SessionState::on_wake(Instant now, proto::Connection& connection) {
    Lock lock(mutex_);
    const Settling settling(*this, lock);
    if (close_wanted_) {
        last_stats_ = connection.stats();
        connection.close(now, close_reason_->wire_code, close_reason_->message);
    } else if (!over()) {
        for (const auto& request : std::exchange(requests_, {})) request(now, connection);
        streams_.serve(connection);
    }
}

void SessionState::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    const Lock lock(mutex_);
    bytes_came_ = true;
    streams_.place(id, offset, bytes);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Connected&) {
    connected_ = true;
    note_peer(connection);  // with several ways, the one that answered
}

void SessionState::handle(proto::Connection&, const proto::event::StreamOpened& event) {
    streams_.open(event.id, !close_wanted_);
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
        end_ = end_for(event.reason);
        close_reason_ = event.reason;
    }
    waker_ = nullptr;
    last_stats_ = connection.stats();
    streams_.end(connection, !close_wanted_);
    requests_.clear();
}

}  // namespace udtx::io
