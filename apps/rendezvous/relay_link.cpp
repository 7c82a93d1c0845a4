#include "rendezvous/relay_link.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <variant>

#include "rendezvous/socket_address.hpp"
#include "rendezvous/tls.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

/// For one address, if there are others.
constexpr Duration kOneAddress = std::chrono::seconds(5);

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

}  // namespace

bool Patience::interrupted() const {
    pollfd polled{stop, POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
}

Error RelayLink::lost(const std::string& why) const {
    return {ErrorCode::network, "the connection to the relay " + to_string(relay_) + " failed: " + why};
}

Result<void> RelayLink::wait(short events, const Patience& patience) const {
    for (;;) {
        const Duration left = patience.deadline - monotonic_now();
        if (left <= Duration::zero()) {
            return Error{ErrorCode::timeout,
                         "the relay " + to_string(relay_) + " or the other end did not answer in time"};
        }
        std::array<pollfd, 2> polled{{{socket_.get(), events, 0}, {patience.stop, POLLIN, 0}}};
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        const int ready =
            ::poll(polled.data(), polled.size(), static_cast<int>(std::min<std::int64_t>(milliseconds, 60'000)));
        if (ready < 0 && errno != EINTR) return lost(reason_of(errno));
        if (ready <= 0) continue;
        if (polled[1].revents != 0) return Error{ErrorCode::interrupted, "interrupted while waiting for the other end"};
        return {};
    }
}

Result<short> RelayLink::events_for(int result) const {
    const int system_error = errno;
    const int error = SSL_get_error(tls_.get(), result);
    const unsigned long detail = ERR_peek_error();
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ) return static_cast<short>(POLLIN);
    if (error == SSL_ERROR_WANT_WRITE) return static_cast<short>(POLLOUT);
    if (error == SSL_ERROR_ZERO_RETURN) return lost("the relay has closed it");
    if (error == SSL_ERROR_SYSCALL && system_error != 0) return lost(reason_of(system_error));
    const char* const text = ERR_reason_error_string(detail);
    return lost(text == nullptr ? "the relay has closed it" : std::string("TLS: ") + text);
}

Result<RelayLink> RelayLink::connect(const std::vector<Address>& relay, const Patience& patience) {
    if (relay.empty()) return Error{ErrorCode::network, "the relay has no address"};
    for (std::size_t i = 0;; ++i) {
        const bool last = i + 1 == relay.size();
        Patience of_one = patience;
        if (!last) of_one.deadline = std::min(patience.deadline, monotonic_now() + kOneAddress);
        auto link = connect_to(relay[i], of_one);
        if (link || last || link.error().code == ErrorCode::interrupted || monotonic_now() >= patience.deadline) {
            return link;
        }
    }
}

Result<RelayLink> RelayLink::connect_to(const Address& relay, const Patience& patience) {
    const SocketAddress where = socket_address(relay);
    UniqueFd socket(::socket(where.storage.ss_family, SOCK_STREAM, 0));
    const auto unreachable = [&](int error_number) {
        return Error{ErrorCode::network,
                     "cannot reach the relay at " + to_string(relay) + "/tcp: " + reason_of(error_number) +
                         ": check its address, and that udtx-recv --relay runs there",
                     error_number};
    };
    if (!socket) return unreachable(errno);
    ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    RelayLink link(relay, std::move(socket));
    const int connected = ::connect(link.fd(), where.get(), where.size);
    if (connected != 0 && errno != EINPROGRESS && errno != EINTR) return unreachable(errno);
    if (connected != 0) {
        const auto waited = link.wait(POLLOUT, patience);
        if (!waited) return waited.error().code == ErrorCode::timeout ? unreachable(ETIMEDOUT) : waited.error();
        int failed = 0;
        socklen_t size = sizeof failed;
        ::getsockopt(link.fd(), SOL_SOCKET, SO_ERROR, &failed, &size);
        if (failed != 0) return unreachable(failed);
    }
    keep_alive(link.fd());
    if (const auto greeted = link.greet(patience); !greeted) return greeted.error();
    return link;
}

Result<void> RelayLink::greet(const Patience& patience) {
    auto context = make_client_tls();
    if (!context) return context.error();
    context_ = std::move(*context);
    tls_.reset(SSL_new(context_.get()));
    must(tls_ != nullptr && SSL_set_fd(tls_.get(), socket_.get()) == 1);
    for (;;) {
        errno = 0;
        const int result = SSL_connect(tls_.get());
        if (result == 1) return {};
        const auto events = events_for(result);
        if (!events) return events.error();
        if (const auto waited = wait(*events, patience); !waited) return waited;
    }
}

Result<void> RelayLink::flush() {
    while (!queue_.empty()) {
        errno = 0;
        const int result = SSL_write(tls_.get(), queue_.data(), static_cast<int>(queue_.size()));
        if (result <= 0) {
            const auto events = events_for(result);
            return events ? Result<void>() : events.error();
        }
        queue_.erase(queue_.begin(), queue_.begin() + result);
    }
    return {};
}

Result<void> RelayLink::offer(const Message& message) {
    const auto bytes = encode(message);
    queue_.insert(queue_.end(), bytes.begin(), bytes.end());
    return flush();
}

Result<void> RelayLink::send(const Message& message, const Patience& patience) {
    const auto bytes = encode(message);
    queue_.insert(queue_.end(), bytes.begin(), bytes.end());
    for (;;) {
        if (const auto flushed = flush(); !flushed) return flushed;
        if (queue_.empty()) return {};
        if (const auto waited = wait(POLLOUT, patience); !waited) return waited;
    }
}

Result<std::optional<Message>> RelayLink::poll_message() {
    for (;;) {
        auto message = reader_.next();
        if (!message || message->has_value()) return message;
        errno = 0;
        const int size = SSL_read(tls_.get(), incoming_.data(), static_cast<int>(incoming_.size()));
        if (size <= 0) {
            const auto events = events_for(size);
            return events ? Result<std::optional<Message>>(std::optional<Message>()) : events.error();
        }
        reader_.feed(std::span(incoming_).first(static_cast<std::size_t>(size)));
    }
}

Result<Message> RelayLink::receive(const Patience& patience) {
    for (;;) {
        auto message = poll_message();
        if (!message) return message.error();
        if (message->has_value()) return std::move(**message);
        const auto events = static_cast<short>(wants_write() ? POLLIN | POLLOUT : POLLIN);
        if (const auto waited = wait(events, patience); !waited) return waited.error();
        if (const auto flushed = flush(); !flushed) return flushed.error();
    }
}

}  // namespace udtx::apps
