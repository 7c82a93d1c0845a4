// A relay between the ends and an honest one, which changes what it passes on.
#pragma once

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "rendezvous/relay_link.hpp"
#include "rendezvous/tls.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {

class LyingRelay {
  public:
    /// Returns what is passed on in place of `message`; nullopt: the connection of the end is cut. One call at a time.
    /// `connection` counts from 0.
    using Told = std::optional<std::vector<Message>>;
    using Lie = std::function<Told(std::size_t connection, bool to_end, const Message& message)>;

    LyingRelay(const Address& honest, Lie lie) : honest_(honest), lie_(std::move(lie)) {
        using boost::asio::ip::tcp;
        auto tls = make_relay_tls();
        if (!tls) std::abort();
        tls_ = std::move(*tls);
        acceptor_.open(tcp::v4());
        acceptor_.bind({boost::asio::ip::address_v4::loopback(), 0});
        acceptor_.listen();
        acceptor_.non_blocking(true);
        address_ = {Address::Family::v4, acceptor_.local_endpoint().port(), {127, 0, 0, 1}};
        thread_ = std::thread([this] { accept(); });
    }
    ~LyingRelay() {
        stop_ = true;
        thread_.join();
        for (auto& passing : passing_) passing.join();
    }
    LyingRelay(const LyingRelay&) = delete;
    LyingRelay& operator=(const LyingRelay&) = delete;

    [[nodiscard]] const Address& address() const { return address_; }

  private:
    static constexpr int kTurn = 20;  // ms

    void accept() {
        while (!stop_) {
            pollfd polled{acceptor_.native_handle(), POLLIN, 0};
            if (::poll(&polled, 1, kTurn) != 1) continue;
            UniqueFd socket(::accept(acceptor_.native_handle(), nullptr, nullptr));
            passing_.emplace_back(
                [this, number = passing_.size(), accepted = std::move(socket)] { pass(number, accepted.get()); });
        }
    }

    void pass(std::size_t number, int socket) {
        const TlsPtr end(SSL_new(tls_.get()));
        SSL_set_fd(end.get(), socket);
        if (SSL_accept(end.get()) != 1) return;
        auto link = RelayLink::connect({honest_}, {monotonic_now() + std::chrono::seconds(10), -1});
        if (!link) return;
        MessageReader reader;
        std::array<std::byte, 16384> bytes{};
        while (!stop_ && link->flush()) {
            std::array<pollfd, 2> polled{{{socket, POLLIN, 0}, {link->fd(), POLLIN, 0}}};
            if (SSL_pending(end.get()) == 0 && ::poll(polled.data(), 2, kTurn) <= 0) continue;
            if (SSL_pending(end.get()) > 0 || polled[0].revents != 0) {
                const int size = SSL_read(end.get(), bytes.data(), static_cast<int>(bytes.size()));
                if (size <= 0) break;
                reader.feed(std::span(bytes).first(static_cast<std::size_t>(size)));
                while (auto message = next(reader)) {
                    const Told told = lie(number, false, *message);
                    if (!told) return (void)::shutdown(socket, SHUT_RDWR);
                    for (const Message& one : *told) (void)link->offer(one);
                }
            }
            for (;;) {
                const auto message = link->poll_message();
                if (!message) return (void)::shutdown(socket, SHUT_RDWR);
                if (!message->has_value()) break;
                const Told told = lie(number, true, **message);
                if (!told) return (void)::shutdown(socket, SHUT_RDWR);
                for (const Message& one : *told) {
                    const auto out = encode(one);
                    if (SSL_write(end.get(), out.data(), static_cast<int>(out.size())) <= 0) return;
                }
            }
        }
        ::shutdown(socket, SHUT_RDWR);
    }
    static std::optional<Message> next(MessageReader& reader) {
        auto message = reader.next();
        return message ? std::move(*message) : std::nullopt;
    }
    Told lie(std::size_t number, bool to_end, const Message& message) {
        const std::lock_guard lock(mutex_);
        return lie_(number, to_end, message);
    }

    Address honest_;
    Lie lie_;
    std::mutex mutex_;
    TlsContextPtr tls_;
    boost::asio::io_context context_;
    boost::asio::ip::tcp::acceptor acceptor_{context_};
    Address address_{};
    std::atomic<bool> stop_ = false;
    std::vector<std::thread> passing_;
    std::thread thread_;
};

}  // namespace udtx::apps
