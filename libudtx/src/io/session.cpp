#include "udtx/session.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "io/connector.hpp"
#include "io/path_plan.hpp"
#include "io/protocol_thread.hpp"
#include "io/session_state.hpp"
#include "udtx/resolve.hpp"

namespace udtx {
namespace {

using io::begun;
using io::guarded;
using StatePtr = std::shared_ptr<io::SessionState>;
using ThreadPtr = std::shared_ptr<io::ProtocolThread>;
using StreamPtr = std::shared_ptr<io::SessionStream>;

Error not_there() { return {ErrorCode::invalid_argument, "the session object was moved from"}; }

struct Destination {
    std::string host;
    std::uint16_t port = 0;
    std::vector<PathRequest> paths;
    LogSink log;
};

/// Runs on the protocol thread, which has no other work yet, so resolving the name may block.
Result<void> dial(io::Driver& driver, const Destination& to, const StatePtr& state) {
    const auto addresses = io::peer_addresses(to.host, to.port, AddressChoice::any, {});
    if (!addresses) return addresses.error();
    if (!state->set_dialled(*addresses)) return {};
    auto ways = io::plan_ways(to.paths, *addresses, AddressChoice::any, false);
    if (!ways) return ways.error();
    if (const auto opened = io::open_socket_for(driver, *ways); !opened) return opened.error();
    const auto dial = std::make_shared<io::Dial>(
        io::Dial::Setup{.driver = driver,
                        .ways = std::move(*ways),
                        .several = !to.paths.empty(),
                        .handler = state,
                        .connected = [state](proto::Connection& connection,
                                             proto::Waker waker) { state->attach(std::move(waker), connection); },
                        .log = to.log});
    dial->begin();
    state->attach_dialling([dial = std::weak_ptr(dial), state = std::weak_ptr(state)] {
        const auto dialling = dial.lock();
        const auto waiting = state.lock();
        if (!dialling || !waiting) return;
        dialling->act_last(
            [waiting](Instant now, proto::Connection& connection) { waiting->on_wake(now, connection); });
    });
    return {};
}

struct Dialled {
    ThreadPtr thread;
    StatePtr state;
};

Result<Dialled> begin_to_dial(std::string host, std::uint16_t port, const Credentials& credentials,
                              ConnectOptions options) {
    if (const auto good = io::check_port(port); !good) return good.error();
    auto thread = io::start_thread([&] { return io::ProtocolThread::make(credentials, options.config); });
    if (!thread) return thread.error();
    auto state = std::make_shared<io::SessionState>();
    io::Driver& driver = (*thread)->driver();
    driver.post(
        [&driver, state, to = Destination{std::move(host), port, std::move(options.paths), std::move(options.log)}] {
            const auto dialled = guarded([&] { return dial(driver, to, state); });
            if (!dialled) state->fail(dialled.error());
        });
    return Dialled{std::move(*thread), std::move(state)};
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
        auto dialled = begin_to_dial(host, port, credentials, options);
        if (!dialled) return dialled.error();
        const StatePtr state = dialled->state;
        Session session(std::move(dialled->thread), std::move(dialled->state));
        const std::stop_callback on_stop(options.stop, [&] { state->stop_connecting(); });
        const auto connected = state->wait_connected(kForever);
        if (connected) return session;
        const bool looks_up = state->dialled().empty();
        if (connected.error().code == ErrorCode::cancelled && looks_up) let_go(std::move(session));
        return connected.error();
    });
}

Result<Connecting> Session::start_connect(std::string host, std::uint16_t port, const Credentials& credentials,
                                          ConnectOptions options, Callback<Session> done) {
    return guarded([&]() -> Result<Connecting> {
        if (const auto good = check(options); !good) return good.error();
        const std::stop_token stop = options.stop;
        auto dialled = begin_to_dial(std::move(host), port, credentials, std::move(options));
        if (!dialled) return dialled.error();
        StatePtr state = dialled->state;
        const auto on_stop = std::make_shared<OnStop>(stop, [state] { state->stop_connecting(); });
        state->start_wait_connected(
            [dialled = std::move(*dialled), on_stop, done = std::move(done)](const Result<void>& connected) mutable {
                Session session(std::move(dialled.thread), std::move(dialled.state));
                if (connected) return done(std::move(session));
                let_go(std::move(session));
                done(connected.error());
            });
        return Connecting(std::move(state));
    });
}

// --- streams

Result<Stream> Session::open_stream(StreamKind kind) {
    return guarded([&]() -> Result<Stream> {
        if (!state_) return not_there();
        auto stream = state_->open_stream(kind, kForever);
        if (!stream) return stream.error();
        return Stream(std::make_shared<io::StreamHandle>(state_, std::move(*stream)));
    });
}

Result<Stream> Session::accept_stream(std::chrono::milliseconds timeout, StreamKind kind) {
    return guarded([&]() -> Result<Stream> {
        if (!state_) return not_there();
        auto stream = state_->accept_stream(kind, timeout);
        if (!stream) return stream.error();
        return Stream(std::make_shared<io::StreamHandle>(state_, std::move(*stream)));
    });
}

CallId Session::start_open_stream(StreamKind kind, Callback<Stream> done) {
    return begun<Stream>(done, [&]() -> Result<CallId> {
        if (!state_) return not_there();
        return state_->start_open_stream(kind, [state = state_, done](Result<StreamPtr> stream) {
            done(guarded([&]() -> Result<Stream> {
                if (!stream) return stream.error();
                return Stream(std::make_shared<io::StreamHandle>(state, std::move(*stream)));
            }));
        });
    });
}

CallId Session::start_accept_stream(StreamKind kind, Callback<Stream> done) {
    return begun<Stream>(done, [&]() -> Result<CallId> {
        if (!state_) return not_there();
        return state_->start_accept_stream(kind, [state = state_, done](Result<StreamPtr> stream) {
            done(guarded([&]() -> Result<Stream> {
                if (!stream) return stream.error();
                return Stream(std::make_shared<io::StreamHandle>(state, std::move(*stream)));
            }));
        });
    });
}

// --- the end

void Session::close(std::uint64_t code, std::string reason) {
    if (state_) state_->close(code, std::move(reason));
}

Result<void> Session::wait_closed(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<void> {
        if (!state_) return not_there();
        return state_->wait_closed(timeout);
    });
}

CallId Session::start_wait_closed(Callback<void> done) {
    return begun<void>(done, [&]() -> Result<CallId> {
        if (!state_) return not_there();
        return state_->start_wait_closed(done);
    });
}

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
    return guarded([&]() -> Result<ConnectionStats> {
        if (!state_) return not_there();
        return state_->stats();
    });
}

Result<void> Session::set_max_rate(Rate rate) {
    return guarded([&]() -> Result<void> {
        if (!state_) return not_there();
        return state_->set_max_rate(rate);
    });
}

Result<void> Session::set_peer_rate(Rate rate) {
    return guarded([&]() -> Result<void> {
        if (!state_) return not_there();
        return state_->set_peer_rate(rate);
    });
}

// --- paths

Result<PathId> Session::add_path(const PathRequest& path) {
    return guarded([&]() -> Result<PathId> {
        if (!state_) return not_there();
        const auto dialled = state_->dialled();
        if (dialled.empty()) return Error{ErrorCode::invalid_argument, "only the end that connected can open paths"};
        const auto interfaces = list_interfaces();
        if (!interfaces) return interfaces.error();
        const auto way = io::plan_path(path, *interfaces, dialled, AddressChoice::any);
        if (!way) return way.error();
        const auto local = thread_->driver().local_address();
        const bool v6 = way->remote.family == Address::Family::v6;
        if (v6 && local && local->family == Address::Family::v4) {
            return Error{ErrorCode::invalid_argument, "path " + path.local + ": the session was opened with IPv4 only"};
        }
        return state_->add_path(*way);
    });
}

Result<void> Session::remove_path(PathId id) {
    return guarded([&]() -> Result<void> {
        if (!state_) return not_there();
        return state_->remove_path(id);
    });
}

Result<PathEvent> Session::wait_path_event(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<PathEvent> {
        if (!state_) return not_there();
        return state_->wait_path_event(timeout);
    });
}

CallId Session::start_wait_path_event(Callback<PathEvent> done) {
    return begun<PathEvent>(done, [&]() -> Result<CallId> {
        if (!state_) return not_there();
        return state_->start_wait_path_event(done);
    });
}

}  // namespace udtx

// Transfers bytes between user threads and the queues of a stream.

namespace udtx::io {
namespace {

constexpr const char* kNoRoom = "the stream took no bytes in time";
constexpr const char* kNothingCame = "nothing came in time";

}  // namespace

std::optional<Error> SessionState::why_not_written(const SessionStream& stream) const {
    if (over()) return end_;
    if (stream.write_error) return stream.write_error;
    if (stream.finish_wanted) return Error{ErrorCode::invalid_argument, "write after finish"};
    return std::nullopt;
}

void SessionState::put(SessionStream& stream, Chunk chunk) {
    // If bytes are already queued, the protocol thread was woken, or checks again when the connection takes more.
    if (stream.outgoing.empty()) wake_due_ = true;
    const std::size_t size = chunk.size();
    if (stream.outgoing.empty() || !stream.outgoing.back().append(chunk)) stream.outgoing.push_back(std::move(chunk));
    stream.outgoing_bytes += size;
}

std::optional<Result<std::size_t>> SessionState::try_write(SessionStream& stream, std::span<const std::byte> bytes,
                                                           std::size_t& most) {
    if (const auto why = why_not_written(stream)) return Result<std::size_t>(*why);
    if (bytes.empty()) return Result<std::size_t>(std::size_t{0});
    if (stream.outgoing_bytes >= std::exchange(most, kRefillBytes)) return std::nullopt;
    Chunk copy = stream.written.copy(bytes);
    const std::size_t size = copy.size();
    put(stream, std::move(copy));
    return Result<std::size_t>(size);
}

std::optional<Result<void>> SessionState::try_write_chunk(SessionStream& stream, Chunk& chunk, std::size_t& most) {
    if (const auto why = why_not_written(stream)) return Result<void>(*why);
    if (chunk.empty()) return Result<void>();
    if (stream.outgoing_bytes >= std::exchange(most, kRefillBytes)) return std::nullopt;
    put(stream, std::move(chunk));
    return Result<void>();
}

Result<std::size_t> SessionState::write_some(const StreamPtr& stream, std::span<const std::byte> bytes,
                                             Timeout timeout) {
    return block<std::size_t>(stream.get(), timeout, kNoRoom,
                              [&, most = kQueueBytes]() mutable { return try_write(*stream, bytes, most); });
}

Result<void> SessionState::write_chunk(const StreamPtr& stream, Chunk chunk, Timeout timeout) {
    return block<void>(stream.get(), timeout, kNoRoom,
                       [&, most = kQueueBytes]() mutable { return try_write_chunk(*stream, chunk, most); });
}

CallId SessionState::start_write_chunk(const StreamPtr& stream, Chunk chunk, Callback<void> done) {
    return begin<void>(
        stream.get(),
        [this, stream, chunk = std::move(chunk), most = kQueueBytes]() mutable {
            return try_write_chunk(*stream, chunk, most);
        },
        std::move(done));
}

CallId SessionState::start_write(const StreamPtr& stream, std::span<const std::byte> bytes, bool all,
                                 Callback<std::size_t> done) {
    return begin<std::size_t>(
        stream.get(),
        [this, stream, bytes, all, taken = std::size_t{0},
         most = kQueueBytes]() mutable -> std::optional<Result<std::size_t>> {
            for (;;) {
                auto result = try_write(*stream, bytes.subspan(taken), most);
                if (!result || !*result) return result;
                most = kQueueBytes;
                taken += **result;
                if (!all || taken == bytes.size()) return Result<std::size_t>(taken);
            }
        },
        std::move(done));
}

std::optional<Result<std::size_t>> SessionState::try_read(SessionStream& stream, std::span<std::byte> out) {
    if (out.empty()) return Result<std::size_t>(std::size_t{0});
    if (close_wanted_) return Result<std::size_t>(closed_here());
    if (stream.read_error) return Result<std::size_t>(*stream.read_error);
    std::size_t count = 0;
    while (!stream.incoming.empty() && count < std::min(out.size(), kCopyBytes)) {
        Chunk& first = stream.incoming.front();
        const std::size_t size = std::min(out.size() - count, first.size());
        std::memcpy(out.data() + count, first.bytes().data(), size);
        count += size;
        if (size < first.size()) {
            first = first.part(size, first.size());
        } else {
            stream.incoming.pop_front();
        }
    }
    if (count > 0) {
        note_read(stream, count);
        return Result<std::size_t>(count);
    }
    if (stream.ended) return Result<std::size_t>(std::size_t{0});
    if (over()) return Result<std::size_t>(*end_);
    return std::nullopt;
}

std::optional<Result<Chunk>> SessionState::try_read_chunk(SessionStream& stream) {
    if (close_wanted_) return Result<Chunk>(closed_here());
    if (stream.read_error) return Result<Chunk>(*stream.read_error);
    if (!stream.incoming.empty()) {
        Chunk first = std::move(stream.incoming.front());
        stream.incoming.pop_front();
        note_read(stream, first.size());
        return Result<Chunk>(std::move(first));
    }
    if (stream.ended) return Result<Chunk>(Chunk());
    if (over()) return Result<Chunk>(*end_);
    return std::nullopt;
}

void SessionState::note_read(SessionStream& stream, std::size_t bytes) {
    stream.incoming_bytes -= bytes;
    if (stream.readable && !over() && stream.incoming_bytes <= kRefillBytes) wake_due_ = true;
}

Result<Chunk> SessionState::read_chunk(const StreamPtr& stream, Timeout timeout) {
    return block<Chunk>(stream.get(), timeout, kNothingCame, [&] { return try_read_chunk(*stream); });
}

CallId SessionState::start_read_chunk(const StreamPtr& stream, Callback<Chunk> done) {
    return begin<Chunk>(
        stream.get(), [this, stream] { return try_read_chunk(*stream); }, std::move(done));
}

Result<std::size_t> SessionState::read(const StreamPtr& stream, std::span<std::byte> out, Timeout timeout) {
    return block<std::size_t>(stream.get(), timeout, kNothingCame, [&] { return try_read(*stream, out); });
}

CallId SessionState::start_read(const StreamPtr& stream, std::span<std::byte> out, Callback<std::size_t> done) {
    return begin<std::size_t>(
        stream.get(), [this, stream, out] { return try_read(*stream, out); }, std::move(done));
}

std::optional<Result<std::optional<Piece>>> SessionState::try_read_piece(SessionStream& stream) {
    using Answer = Result<std::optional<Piece>>;
    if (close_wanted_) return Answer(closed_here());
    if (stream.read_error) return Answer(*stream.read_error);
    if (!stream.pieces.empty()) {
        Piece piece = std::move(stream.pieces.front());
        stream.pieces.pop_front();
        stream.release_due += piece.data.size();
        wake_due_ = true;
        return Answer(std::optional<Piece>(std::move(piece)));
    }
    if (stream.ended) return Answer(std::optional<Piece>());
    if (over()) return Answer(*end_);
    return std::nullopt;
}

Result<std::optional<Piece>> SessionState::read_piece(const StreamPtr& stream, Timeout timeout) {
    return block<std::optional<Piece>>(stream.get(), timeout, kNothingCame, [&] { return try_read_piece(*stream); });
}

CallId SessionState::start_read_piece(const StreamPtr& stream, Callback<std::optional<Piece>> done) {
    return begin<std::optional<Piece>>(
        stream.get(), [this, stream] { return try_read_piece(*stream); }, std::move(done));
}

}  // namespace udtx::io
