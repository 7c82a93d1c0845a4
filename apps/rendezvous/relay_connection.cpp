#include "rendezvous/relay_connection.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include <boost/asio/post.hpp>

namespace udtx::apps {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::chrono::seconds kGreetingTime{10};
/// An end that takes no bytes for this time counts as gone.
constexpr std::chrono::seconds kWriteTime{30};
constexpr std::chrono::seconds kDrainTime{2};
/// Additional room in the queue, which data does not get.
constexpr std::size_t kRoomForMessages = 128U << 10U;
constexpr std::size_t kWriteBytes = 64U << 10U;

}  // namespace

RelayConnection::RelayConnection(RelayConnectionId id, Tcp::socket socket, asio::ssl::context& tls, const Owner& owner,
                                 std::size_t queue_bytes)
    : id_(id),
      stream_(std::move(socket), tls),
      owner_(owner),
      most_queued_(queue_bytes),
      timer_(stream_.get_executor()),
      pause_(stream_.get_executor()) {}

void RelayConnection::begin() {
    limit(kGreetingTime);
    stream_.async_handshake(Stream::server, [self = shared_from_this()](error_code error) {
        if (error || self->stage_ != Stage::greets) return self->abort();
        self->timer_.cancel();
        self->stage_.enter(Stage::talks);
        self->read();
        if (!self->queue_.empty()) self->write();
    });
}

void RelayConnection::read() {
    if (reading_) return;
    if (stage_ == Stage::talks && pause_.expiry() > std::chrono::steady_clock::now()) {
        pause_.async_wait([self = shared_from_this()](error_code error) {
            if (!error && self->stage_ != Stage::ended) self->read();
        });
        return;
    }
    if (const auto takes = takes_.lock(); takes && stage_ == Stage::talks && takes->full()) {
        takes->waiting_ = weak_from_this();
        return;
    }
    reading_ = true;
    stream_.async_read_some(asio::buffer(incoming_), [self = shared_from_this()](error_code error, std::size_t size) {
        self->reading_ = false;
        if (self->stage_ == Stage::ended) return;
        if (error) return self->abort();
        self->on_read(size);
    });
}

void RelayConnection::on_read(std::size_t size) {
    if (stage_ == Stage::talks) reader_.feed(std::as_bytes(std::span(incoming_).first(size)));
    while (stage_ == Stage::talks) {
        const auto message = reader_.next();
        if (!message) {
            owner_.violation(id_, message.error().message);
            break;
        }
        if (!message->has_value()) break;
        owner_.message(id_, **message);
    }
    if (stage_ != Stage::ended) read();
}

void RelayConnection::send(const Message& message) {
    if (stage_ != Stage::greets && stage_ != Stage::talks) return;
    auto bytes = encode(message);
    if (queued_ + bytes.size() > most_queued_ + kRoomForMessages) {
        return asio::post(stream_.get_executor(), [self = shared_from_this()] { self->abort(); });
    }
    queued_ += bytes.size();
    queue_.push_back(std::move(bytes));
    if (stage_ == Stage::talks && writing_.empty()) write();
}

void RelayConnection::pass(RelayConnection& from, const Data& data, std::chrono::nanoseconds pause) {
    send(data);
    from.takes_ = weak_from_this();
    if (pause > std::chrono::nanoseconds::zero()) from.pause_.expires_after(pause);
}

void RelayConnection::write() {
    while (!queue_.empty() && (writing_.empty() || writing_.size() + queue_.front().size() <= kWriteBytes)) {
        writing_.insert(writing_.end(), queue_.front().begin(), queue_.front().end());
        queue_.pop_front();
    }
    write_rest(0);
}

void RelayConnection::write_rest(std::size_t written) {
    limit(kWriteTime);
    stream_.async_write_some(asio::buffer(writing_) + written,
                             [self = shared_from_this(), written](error_code error, std::size_t size) {
                                 if (self->stage_ == Stage::ended) return;
                                 if (error) return self->abort();
                                 if (written + size < self->writing_.size()) return self->write_rest(written + size);
                                 self->on_written();
                             });
}

void RelayConnection::on_written() {
    queued_ -= writing_.size();
    writing_.clear();
    timer_.cancel();
    if (const auto waiting = waiting_.lock(); waiting && !full()) {
        waiting_.reset();
        if (waiting->stage_ != Stage::ended) waiting->read();
    }
    if (!queue_.empty()) return write();
    if (stage_ == Stage::finishes) drain();
}

void RelayConnection::finish() {
    if (stage_ == Stage::greets) return abort();  // without TLS, nothing can be said
    if (stage_ != Stage::talks) return;
    stage_.enter(Stage::finishes);
    if (writing_.empty() && queue_.empty()) drain();
}

/// Closing a socket with unread bytes would discard what was sent last. So this reads on, also if it waited for the
/// other end or because of its rate.
void RelayConnection::drain() {
    stage_.enter(Stage::drains);
    error_code ignored;
    stream_.lowest_layer().shutdown(Tcp::socket::shutdown_send, ignored);
    limit(kDrainTime);
    read();
}

void RelayConnection::limit(std::chrono::seconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](error_code error) {
        if (!error) self->abort();
    });
}

void RelayConnection::abort() {
    if (stage_ == Stage::ended) return;
    stage_.enter(Stage::ended);
    timer_.cancel();
    pause_.cancel();
    error_code ignored;
    stream_.lowest_layer().close(ignored);
    // Not inside a call of the owner.
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->owner_.ended(self->id_); });
}

}  // namespace udtx::apps
