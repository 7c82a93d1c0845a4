// The pieces of code in docs/library.md that need Boost.Asio.
#include <udtx/async.hpp>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <iostream>

namespace asio = boost::asio;

#define CHECK(what) \
    if (!(what)) std::cerr << "asio.cpp:" << __LINE__ << ": " #what "\n", std::exit(1)

static asio::awaitable<bool> dialled(std::uint16_t port, udtx::Credentials credentials) {
    auto session = co_await udtx::async_connect("127.0.0.1", port, credentials, udtx::as_result(asio::use_awaitable));
    if (!session) std::cerr << session.error().message << '\n';
    co_return session.ok();
}

int main() {
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    CHECK(listener);
    const std::uint16_t port = listener->local_address().port;
    asio::io_context context;
    auto there = asio::co_spawn(context, dialled(port, credentials), asio::use_future);
    auto nowhere = asio::co_spawn(context, dialled(0, credentials), asio::use_future);
    context.run();
    CHECK(there.get() && !nowhere.get());
}
