#include "udtx/session.hpp"

#include <utility>

#include "io/resolve.hpp"
#include "io/session_state.hpp"
#include "io/session_thread.hpp"

namespace udtx {
namespace {

Error not_there() { return {ErrorCode::invalid_argument, "the session object was moved from"}; }

Address wildcard_like(const Address& remote) {
    Address any;
    any.family = remote.family;
    return any;
}

bool another_address_may_help(ErrorCode code) {
    return code == ErrorCode::network || code == ErrorCode::udp_blocked || code == ErrorCode::timeout;
}

}  // namespace

// --- Stream

StreamId Stream::id() const noexcept { return handle_->id(); }

Result<void> Stream::write(std::span<const std::byte> bytes) {
    return handle_->session().write(handle_->stream(), bytes);
}

Result<std::size_t> Stream::read(std::span<std::byte> out) { return handle_->session().read(handle_->stream(), out); }

Result<void> Stream::finish() { return handle_->session().finish(handle_->stream()); }

// --- Session

Session::Session(std::shared_ptr<io::SessionThread> thread, std::shared_ptr<io::SessionState> state)
    : thread_(std::move(thread)), state_(std::move(state)) {}

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
    const auto addresses = io::resolve(host.empty() ? "localhost" : host, port);
    if (!addresses) return addresses.error();
    Error last{ErrorCode::network, "no address"};
    for (const Address& remote : *addresses) {
        auto thread = io::SessionThread::make(credentials, config, wildcard_like(remote));
        if (!thread) {
            last = thread.error();
        } else {
            auto state = (*thread)->connect(remote);
            const auto connected = state->wait_connected();
            if (connected) return Session(std::move(*thread), std::move(state));
            state->close();
            last = connected.error();
        }
        if (!another_address_may_help(last.code)) break;
    }
    return last;
}

Result<Stream> Session::open_stream() {
    if (!state_) return not_there();
    auto stream = state_->open_stream();
    if (!stream) return stream.error();
    return Stream(std::make_shared<io::StreamHandle>(state_, std::move(*stream)));
}

Result<Stream> Session::accept_stream(std::chrono::milliseconds timeout) {
    if (!state_) return not_there();
    auto stream = state_->accept_stream(timeout);
    if (!stream) return stream.error();
    return Stream(std::make_shared<io::StreamHandle>(state_, std::move(*stream)));
}

void Session::close() {
    if (state_) state_->close();
}

Result<void> Session::wait_closed(std::chrono::milliseconds timeout) {
    if (!state_) return not_there();
    return state_->wait_closed(timeout);
}

Result<ConnectionStats> Session::stats() const {
    if (!state_) return not_there();
    return state_->stats();
}

Address Session::remote() const { return state_ ? state_->remote() : Address{}; }

// --- Listener

Listener::Listener(std::shared_ptr<io::SessionThread> thread) : thread_(std::move(thread)) {}

Listener::Listener(Listener&&) noexcept = default;

Listener& Listener::operator=(Listener&& other) noexcept {
    if (this != &other) {
        close();
        thread_ = std::move(other.thread_);
    }
    return *this;
}

Listener::~Listener() { close(); }

Result<Listener> Listener::bind(const std::string& address, const Credentials& credentials,
                                const TransportConfig& config, std::size_t max_connections) {
    const auto place = io::parse_host_port(address);
    if (!place) return place.error();
    const auto addresses = io::resolve(place->host, place->port);
    if (!addresses) return addresses.error();
    Error first;
    for (std::size_t i = 0; i < addresses->size(); ++i) {
        auto thread = io::SessionThread::make(credentials, config, (*addresses)[i]);
        if (thread) {
            (*thread)->listen(max_connections);
            return Listener(std::move(*thread));
        }
        if (i == 0) first = thread.error();
    }
    return first;
}

Address Listener::local_address() const { return thread_ ? thread_->local_address() : Address{}; }

Result<Session> Listener::accept(std::chrono::milliseconds timeout) {
    if (!thread_) return not_there();
    auto state = thread_->accept(timeout);
    if (!state) return state.error();
    return Session(thread_, std::move(*state));
}

void Listener::close() {
    if (thread_) thread_->stop_accepting();
}

}  // namespace udtx
