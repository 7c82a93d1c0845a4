// Both ends as coroutines of Boost.Asio on one thread. A call that fails throws boost::system::system_error.
#include <udtx/async.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>

namespace asio = boost::asio;

static asio::awaitable<void> send(std::uint16_t port, udtx::Credentials credentials) {
    auto session = co_await udtx::async_connect("127.0.0.1", port, credentials, asio::use_awaitable);
    auto stream = co_await udtx::async_open_stream(session, asio::use_awaitable);
    const std::vector<std::byte> buffer(8'000'000);
    co_await udtx::async_write(stream, buffer, asio::use_awaitable);
    co_await udtx::async_finish(stream, asio::use_awaitable);
}

static asio::awaitable<void> receive(udtx::Listener& listener, std::uint64_t& total) {
    auto session = co_await udtx::async_accept(listener, asio::use_awaitable);
    auto stream = co_await udtx::async_accept_stream(session, asio::use_awaitable);
    std::vector<std::byte> part(65536);
    for (boost::system::error_code error; !error;)  // asio::error::eof at the end of the stream
        total += co_await udtx::async_read_some(stream, part, asio::redirect_error(asio::use_awaitable, error));
}

int main() {
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener) return 1;
    asio::io_context context;
    std::uint64_t total = 0;
    asio::co_spawn(context, receive(*listener, total), asio::detached);
    asio::co_spawn(context, send(listener->local_address().port, credentials), asio::detached);
    context.run_for(std::chrono::seconds(20));
    std::cout << total << " bytes came\n";
    return total == 8'000'000 ? 0 : 1;
}
