// The pieces of code in docs/using/library.md that need Boost.Asio.
#include <udtx/async.hpp>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <utility>

using namespace std::chrono_literals;
namespace asio = boost::asio;

#define CHECK(what) \
    if (!(what)) std::cerr << "asio.cpp:" << __LINE__ << ": " #what "\n", std::exit(1)

static asio::awaitable<udtx::Session> connect(std::uint16_t port, udtx::Credentials credentials) {
    auto session = co_await udtx::async_connect("127.0.0.1", port, credentials, udtx::as_result(asio::use_awaitable));
    if (!session) std::cerr << session.error().message << '\n';
    co_return session ? std::move(*session) : udtx::Session();
}

static asio::awaitable<std::size_t> length_from(udtx::Stream stream) {
    std::array<unsigned char, 2> header{};
    udtx::AsioStream whole(stream);
    co_await asio::async_read(whole, asio::buffer(header), asio::use_awaitable);
    co_return header[0] * 256U + header[1];
}

static udtx::Result<std::size_t> read_in_time(asio::io_context& context, udtx::Stream& stream,
                                              std::span<std::byte> part) {
    std::optional<udtx::Result<std::size_t>> read;
    asio::steady_timer timer(context, 50ms);
    const auto call = stream.start_read(part, [&](udtx::Result<std::size_t> result) {
        asio::post(context, [&, result] { read = result, timer.cancel(); });
    });
    timer.async_wait([&](boost::system::error_code early) { early ? void() : stream.cancel(call); });
    context.restart();
    context.run();
    return *read;
}

int main() {
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    CHECK(listener);
    const std::uint16_t port = listener->local_address().port;
    asio::io_context context;
    auto there = asio::co_spawn(context, connect(port, credentials), asio::use_future);
    auto nowhere = asio::co_spawn(context, connect(0, credentials), asio::use_future);
    context.run();
    CHECK(!nowhere.get().stats());

    auto session = there.get();
    auto peer = listener->accept(10s);
    CHECK(peer);
    auto ours = session.open_stream();
    const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
    CHECK(ours && ours->write(bytes, 10s));
    auto theirs = peer->accept_stream(10s);
    CHECK(theirs);
    auto length = asio::co_spawn(context, length_from(*theirs), asio::use_future);
    context.restart();
    context.run();
    CHECK(length.get() == 258);
    std::array<std::byte, 10> part{};
    const auto last = read_in_time(context, *theirs, part);
    CHECK(last && *last == 1);
    const auto none = read_in_time(context, *theirs, part);
    CHECK(!none && none.error().code == udtx::ErrorCode::cancelled);
}
