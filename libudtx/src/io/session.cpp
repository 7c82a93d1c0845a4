#include "udtx/session.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/state_access.hpp"
#include "io/connector.hpp"
#include "io/path_plan.hpp"
#include "io/protocol_thread.hpp"
#include "io/session_state.hpp"
#include "udtx/address.hpp"

namespace udtx {
namespace {

using io::Attempted;
using io::begun;
using io::guarded;
using io::SessionState;
using StatePtr = std::shared_ptr<SessionState>;
using ThreadPtr = std::shared_ptr<io::ProtocolThread>;
using StreamPtr = SessionState::StreamPtr;
using HandlePtr = std::shared_ptr<io::StreamHandle>;
using Timeout = std::chrono::milliseconds;

// The calls that wait are attempts of SessionState. These functions bind an attempt to its arguments.

Error no_session() { return {ErrorCode::invalid_argument, "the session object was moved from"}; }
Error no_stream() { return {ErrorCode::invalid_argument, "the stream object was moved from"}; }

template <class T, class... Params, class... Args>
Result<T> wait(const StatePtr& state, Timeout timeout, const char* late,
               Attempted<T> (SessionState::*attempt)(Params...), Args... args) {
    return guarded([&]() -> Result<T> {
        if (!state) return no_session();
        return state->wait<T>(nullptr, timeout, late, std::bind_front(attempt, state.get(), std::move(args)...));
    });
}

template <class T, class... Params, class... Args>
CallId start(const StatePtr& state, const Callback<T>& done, Attempted<T> (SessionState::*attempt)(Params...),
             Args... args) {
    return begun<T>(done, [&]() -> Result<CallId> {
        if (!state) return no_session();
        return state->begin<T>(nullptr, std::bind_front(attempt, state.get(), std::move(args)...), done);
    });
}

/// Runs `ask` on the protocol thread and waits for its result.
template <class T, class Ask>
Result<T> ask(const StatePtr& state, Ask ask) {
    return wait(state, kForever, "", &SessionState::try_ask<T>, SessionState::Question<T>{.ask = std::move(ask)});
}

Result<void> check(const HandlePtr& handle, std::optional<StreamKind> kind) {
    if (!handle) return no_stream();
    if (!kind || handle->id().kind() == *kind) return {};
    return Error{ErrorCode::invalid_argument, handle->id().kind() == StreamKind::ordered
                                                  ? "an ordered stream is read by read(), not by pieces"
                                                  : "an unordered stream is read by pieces, not by read()"};
}

/// `kind`: of the streams that have this call; nullopt: all have it.
template <class T, class... Params, class... Args>
Result<T> wait(const HandlePtr& handle, std::optional<StreamKind> kind, Timeout timeout, const char* late,
               Attempted<T> (SessionState::*attempt)(const StreamPtr&, Params...), Args... args) {
    return guarded([&]() -> Result<T> {
        if (const auto good = check(handle, kind); !good) return good.error();
        SessionState& session = handle->session();
        return session.wait<T>(handle->stream().get(), timeout, late,
                               std::bind_front(attempt, &session, handle->stream(), std::move(args)...));
    });
}

template <class T, class... Params, class... Args>
CallId start(const HandlePtr& handle, std::optional<StreamKind> kind, const Callback<T>& done,
             Attempted<T> (SessionState::*attempt)(const StreamPtr&, Params...), Args... args) {
    return begun<T>(done, [&]() -> Result<CallId> {
        if (const auto good = check(handle, kind); !good) return good.error();
        SessionState& session = handle->session();
        return session.begin<T>(handle->stream().get(),
                                std::bind_front(attempt, &session, handle->stream(), std::move(args)...),
                                // The handle keeps the stream open until the callback has run.
                                [handle, done](Result<T> result) { done(std::move(result)); });
    });
}

struct Destination {
    std::string host;
    std::uint16_t port = 0;
    std::vector<PathRequest> paths;
    CarrierOptions carriers;
    LogSink log;
};

/// Runs on the protocol thread, which has no other work yet, so resolving the name may block.
Result<void> start_connecting(io::Driver& driver, const Destination& to, const StatePtr& state) {
    const auto addresses = io::peer_addresses(to.host, to.port, AddressChoice::any, {});
    if (!addresses) return addresses.error();
    if (!state->set_peer_addresses(*addresses)) return {};
    auto candidates = io::plan_paths(to.paths, *addresses, AddressChoice::any, false);
    if (!candidates) return candidates.error();
    if (const auto opened = io::open_socket_for(driver, *candidates); !opened) return opened.error();
    const auto connector = std::make_shared<io::Connector>(
        io::Connector::Setup{.driver = driver,
                             .candidates = std::move(*candidates),
                             .several = !to.paths.empty(),
                             .host = to.host,
                             .carriers = to.carriers,
                             .handler = state,
                             .connected = [state](proto::Connection& connection,
                                                  proto::Waker waker) { state->attach(std::move(waker), connection); },
                             .log = to.log});
    connector->begin();
    state->attach_connector([connector = std::weak_ptr(connector), state = std::weak_ptr(state)] {
        const auto connecting = connector.lock();
        const auto waiting = state.lock();
        if (!connecting || !waiting) return;
        connecting->act_last(
            [waiting](Instant now, proto::Connection& connection) { waiting->on_wake(now, connection); });
    });
    return {};
}

struct Starting {
    ThreadPtr thread;
    StatePtr state;
};

Result<Starting> start_session(std::string host, std::uint16_t port, const Credentials& credentials,
                               ConnectOptions options) {
    if (const auto good = io::check_port(port); !good) return good.error();
    auto thread = io::start_thread([&] { return io::ProtocolThread::make(credentials, options.config); });
    if (!thread) return thread.error();
    auto state = std::make_shared<SessionState>();
    io::Driver& driver = (*thread)->driver();
    driver.post([&driver, state,
                 to = Destination{.host = std::move(host),
                                  .port = port,
                                  .paths = std::move(options.paths),
                                  .carriers = std::move(options.carriers),
                                  .log = std::move(options.log)}] {
        const auto started = guarded([&] { return start_connecting(driver, to, state); });
        if (!started) state->fail(started.error());
    });
    return Starting{std::move(*thread), std::move(state)};
}

}  // namespace

void Connecting::cancel() {
    if (state_) state_->stop_connecting();
}

Session::Session(ThreadPtr thread, StatePtr state) : thread_(std::move(thread)), state_(std::move(state)) {}

Session::Session() noexcept = default;
Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
    if (this != &other) {
        close();
        state_ = std::move(other.state_);
        thread_ = std::move(other.thread_);
    }
    return *this;
}

Session::~Session() { close(); }

Result<Session> Session::connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                 const TransportConfig& config) {
    return connect(host, port, credentials, ConnectOptions{.config = config});
}

Result<Session> Session::connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                 const TransportConfig& config, const std::vector<PathRequest>& paths) {
    return guarded([&]() -> Result<Session> {
        if (paths.empty()) {
            return Error{ErrorCode::invalid_argument, "0 paths: give 1 to " + std::to_string(config.max_paths)};
        }
        return connect(host, port, credentials, ConnectOptions{.config = config, .paths = paths});
    });
}

namespace {

using OnStop = std::stop_callback<std::function<void()>>;

Result<void> check(const ConnectOptions& options) {
    if (options.paths.size() <= options.config.max_paths) return {};
    return Error{ErrorCode::invalid_argument, std::to_string(options.paths.size()) + " paths: give 1 to " +
                                                  std::to_string(options.config.max_paths)};
}

/// Closes the session. Another thread destroys it, if the system has one: that may wait until a name is resolved.
void let_go(Session session) {
    session.close();
    try {
        std::thread([last = std::move(session)] {}).detach();
    } catch (const std::exception&) {
        // No thread: it is destroyed on this one.
    }
}

}  // namespace

Result<Session> Session::connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                 const ConnectOptions& options) {
    return guarded([&]() -> Result<Session> {
        if (const auto good = check(options); !good) return good.error();
        auto starting = start_session(host, port, credentials, options);
        if (!starting) return starting.error();
        const StatePtr state = starting->state;
        Session session(std::move(starting->thread), std::move(starting->state));
        const std::stop_callback on_stop(options.stop, [&] { state->stop_connecting(); });
        const auto connected = wait(state, kForever, "", &SessionState::try_connected);
        if (connected) return session;
        const bool looks_up = state->peer_addresses().empty();
        if (connected.error().code == ErrorCode::cancelled && looks_up) let_go(std::move(session));
        return connected.error();
    });
}

Result<Connecting> Session::start_connect(std::string host, std::uint16_t port, const Credentials& credentials,
                                          ConnectOptions options, Callback<Session> done) {
    return guarded([&]() -> Result<Connecting> {
        if (const auto good = check(options); !good) return good.error();
        const std::stop_token stop = options.stop;
        auto starting = start_session(std::move(host), port, credentials, std::move(options));
        if (!starting) return starting.error();
        StatePtr state = starting->state;
        const auto on_stop = std::make_shared<OnStop>(stop, [state] { state->stop_connecting(); });
        Callback<void> on_connected = [starting = std::move(*starting), on_stop,
                                       done = std::move(done)](const Result<void>& connected) mutable {
            Session session(std::move(starting.thread), std::move(starting.state));
            if (connected) return done(std::move(session));
            let_go(std::move(session));
            done(connected.error());
        };
        state->begin<void>(nullptr, std::bind_front(&SessionState::try_connected, state.get()),
                           std::move(on_connected));
        return Connecting(std::move(state));
    });
}

// --- streams

namespace {

Result<Stream> to_stream(const StatePtr& state, Result<StreamPtr> found) {
    if (!found) return found.error();
    return StateAccess::make<Stream>(std::make_shared<io::StreamHandle>(state, std::move(*found)));
}

Callback<StreamPtr> to_streams(StatePtr state, Callback<Stream> done) {
    return [state = std::move(state), done = std::move(done)](Result<StreamPtr> found) {
        done(guarded([&] { return to_stream(state, std::move(found)); }));
    };
}

}  // namespace

Result<Stream> Session::open_stream(StreamKind kind) {
    return guarded([&]() -> Result<Stream> {
        if (!state_) return no_session();
        return to_stream(state_, wait(state_, kForever, "", &SessionState::try_ask<StreamPtr>, state_->opening(kind)));
    });
}

Result<Stream> Session::accept_stream(Timeout timeout, StreamKind kind) {
    return guarded([&] {
        constexpr const char* kNone = "the peer opened no stream in time";
        return to_stream(state_, wait(state_, timeout, kNone, &SessionState::try_accept, kind));
    });
}

CallId Session::start_open_stream(StreamKind kind, Callback<Stream> done) {
    return begun<Stream>(done, [&]() -> Result<CallId> {
        if (!state_) return no_session();
        return start(state_, to_streams(state_, done), &SessionState::try_ask<StreamPtr>, state_->opening(kind));
    });
}

CallId Session::start_accept_stream(StreamKind kind, Callback<Stream> done) {
    return begun<Stream>(done, [&]() -> Result<CallId> {
        return start(state_, to_streams(state_, done), &SessionState::try_accept, kind);
    });
}

// --- the end

void Session::close(std::uint64_t code, std::string reason) {
    if (state_) state_->close(code, std::move(reason));
}

Result<void> Session::wait_closed(Timeout timeout) {
    return wait(state_, timeout, "the session is still open", &SessionState::try_closed);
}

CallId Session::start_wait_closed(Callback<void> done) { return start(state_, done, &SessionState::try_closed); }

std::optional<CloseReason> Session::close_reason() const { return state_ ? state_->close_reason() : std::nullopt; }

void Session::cancel() {
    if (state_) state_->cancel(nullptr);
}

void Session::cancel(CallId call) {
    if (state_) state_->cancel(call);
}

// --- properties and statistics

std::optional<PublicKey> Session::peer_key() const { return state_ ? state_->peer_key() : std::nullopt; }

Address Session::remote() const { return state_ ? state_->remote() : Address{}; }

Result<ConnectionStats> Session::stats() const {
    const auto ask = [](Instant, const proto::Connection& connection) { return connection.stats(); };
    return wait(state_, kForever, "", &SessionState::try_stats, SessionState::Question<ConnectionStats>{.ask = ask});
}

Result<void> Session::set_max_rate(Rate rate) {
    return guarded([&]() -> Result<void> { return state_ ? state_->set_max_rate(rate) : no_session(); });
}

Result<void> Session::set_peer_rate(Rate rate) {
    return guarded([&]() -> Result<void> { return state_ ? state_->set_peer_rate(rate) : no_session(); });
}

// --- paths

Result<PathId> Session::add_path(const PathRequest& path) {
    return guarded([&]() -> Result<PathId> {
        if (!state_) return no_session();
        const auto peer = state_->peer_addresses();
        if (peer.empty()) return Error{ErrorCode::invalid_argument, "only the end that connected can open paths"};
        const auto interfaces = list_interfaces();
        if (!interfaces) return interfaces.error();
        const auto candidate = io::plan_path(path, *interfaces, peer, AddressChoice::any);
        if (!candidate) return candidate.error();
        const auto local = thread_->driver().local_address();
        const bool v6 = candidate->remote.family == Address::Family::v6;
        if (v6 && local && local->family == Address::Family::v4) {
            return Error{ErrorCode::invalid_argument, "path " + path.local + ": the session was opened with IPv4 only"};
        }
        return ask<PathId>(state_, [candidate = *candidate](Instant now, proto::Connection& connection) {
            return connection.add_path(now, candidate.local, candidate.remote, candidate.options);
        });
    });
}

Result<void> Session::remove_path(PathId id) {
    return ask<void>(state_,
                     [id](Instant now, proto::Connection& connection) { return connection.remove_path(now, id); });
}

Result<PathEvent> Session::wait_path_event(Timeout timeout) {
    return wait(state_, timeout, "nothing happened to the paths in time", &SessionState::try_path_event);
}

CallId Session::start_wait_path_event(Callback<PathEvent> done) {
    return start(state_, done, &SessionState::try_path_event);
}

// --- Stream

namespace {

constexpr const char* kNoRoom = "the stream took no bytes in time";
constexpr const char* kNothingCame = "nothing came in time";

/// The remaining time of a call that consists of several calls.
class TimeLeft {
  public:
    explicit TimeLeft(Timeout timeout) : timeout_(timeout) {}
    [[nodiscard]] Timeout operator()() const {
        if (timeout_ == kForever) return kForever;
        return timeout_ - std::chrono::duration_cast<Timeout>(std::chrono::steady_clock::now() - start_);
    }

  private:
    Timeout timeout_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

StreamId Stream::id() const noexcept { return handle_ ? handle_->id() : StreamId{}; }

Result<void> Stream::write(std::span<const std::byte> bytes, Timeout timeout) {
    const TimeLeft left(timeout);
    do {
        const auto taken = write_some(bytes, left());
        if (!taken) return taken.error();
        bytes = bytes.subspan(*taken);
    } while (!bytes.empty());
    return {};
}

Result<std::size_t> Stream::write_some(std::span<const std::byte> bytes, Timeout timeout) {
    return wait(handle_, {}, timeout, kNoRoom, &SessionState::try_write, bytes, io::kQueueBytes);
}

Result<void> Stream::write_chunk(Chunk chunk, Timeout timeout) {
    return wait(handle_, {}, timeout, kNoRoom, &SessionState::try_write_chunk, std::move(chunk), io::kQueueBytes);
}

Result<void> Stream::finish(Timeout timeout) {
    return wait(handle_, {}, timeout, "the peer did not acknowledge the end in time", &SessionState::try_finish);
}

void Stream::reset(std::uint64_t code) {
    if (handle_) handle_->session().reset(*handle_->stream(), code);
}

Result<std::size_t> Stream::read(std::span<std::byte> out, Timeout timeout) {
    return wait(handle_, StreamKind::ordered, timeout, kNothingCame, &SessionState::try_read, out);
}

Result<std::size_t> Stream::read_full(std::span<std::byte> out, Timeout timeout) {
    const TimeLeft left(timeout);
    std::size_t filled = 0;
    for (;;) {
        const auto count = read(out.subspan(filled), left());
        if (!count) return count;
        filled += *count;
        if (*count == 0 || filled == out.size()) return filled;
    }
}

Result<Chunk> Stream::read_chunk(Timeout timeout) {
    return wait(handle_, StreamKind::ordered, timeout, kNothingCame, &SessionState::try_read_chunk);
}

Result<std::optional<Piece>> Stream::read_piece(Timeout timeout) {
    return wait(handle_, StreamKind::unordered, timeout, kNothingCame, &SessionState::try_read_piece);
}

void Stream::stop_receiving(std::uint64_t code) {
    if (handle_) handle_->session().stop_receiving(*handle_->stream(), code);
}

CallId Stream::start_write_some(std::span<const std::byte> bytes, Callback<std::size_t> done) {
    return start(handle_, {}, done, &SessionState::try_write, bytes, io::kQueueBytes);
}

CallId Stream::start_write(std::span<const std::byte> bytes, Callback<std::size_t> done) {
    return start(handle_, {}, done, &SessionState::try_write_all, bytes, io::kQueueBytes, std::size_t{0});
}

CallId Stream::start_write_chunk(Chunk chunk, Callback<void> done) {
    return start(handle_, {}, done, &SessionState::try_write_chunk, std::move(chunk), io::kQueueBytes);
}

CallId Stream::start_finish(Callback<void> done) { return start(handle_, {}, done, &SessionState::try_finish); }

CallId Stream::start_read(std::span<std::byte> out, Callback<std::size_t> done) {
    return start(handle_, StreamKind::ordered, done, &SessionState::try_read, out);
}

CallId Stream::start_read_chunk(Callback<Chunk> done) {
    return start(handle_, StreamKind::ordered, done, &SessionState::try_read_chunk);
}

CallId Stream::start_read_piece(Callback<std::optional<Piece>> done) {
    return start(handle_, StreamKind::unordered, done, &SessionState::try_read_piece);
}

void Stream::cancel() {
    if (handle_) handle_->session().cancel(handle_->stream().get());
}

void Stream::cancel(CallId call) {
    if (handle_) handle_->session().cancel(call);
}

}  // namespace udtx
