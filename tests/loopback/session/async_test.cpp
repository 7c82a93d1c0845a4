// Sessions by Asio's completion tokens: callbacks, futures, coroutines.
#include "udtx/async.hpp"

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>

#include "session_fixture.hpp"

using namespace udtx;
using namespace udtx::test;
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

asio::awaitable<std::vector<std::byte>> read_all_of(Stream stream) {
    std::vector<std::byte> all;
    std::vector<std::byte> part(50'000);
    for (;;) {
        error_code end;
        const std::size_t count =
            co_await async_read_some(stream, part, asio::redirect_error(asio::use_awaitable, end));
        all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
        if (end == asio::error::eof) co_return all;
        if (end) throw boost::system::system_error(end);
    }
}

asio::awaitable<void> serve_echo(Listener& listener) {
    auto session = co_await async_accept(listener, asio::use_awaitable);
    auto stream = co_await async_accept_stream(session, asio::use_awaitable);
    const auto bytes = co_await read_all_of(stream);
    co_await async_write(stream, bytes, asio::use_awaitable);
    co_await async_finish(stream, asio::use_awaitable);
    co_await async_wait_closed(session, asio::use_awaitable);
}

asio::awaitable<std::vector<std::byte>> ask_for_echo(std::uint16_t port, const std::vector<std::byte>& bytes) {
    auto session = co_await async_connect("localhost", port, psk(1), asio::use_awaitable);
    auto stream = co_await async_open_stream(session, asio::use_awaitable);
    co_await async_write(stream, bytes, asio::use_awaitable);
    co_await async_finish(stream, asio::use_awaitable);
    auto echo = co_await read_all_of(stream);
    session.close();
    co_return echo;
}

}  // namespace

#ifdef __SANITIZE_THREAD__
/// An exception in a future is shared by two threads. The C++ library counts who holds it, in code that the sanitizer
/// does not see: it takes the end of the last holder for a race.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name for it
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:std::__exception_ptr::exception_ptr::_M_release"; }
#endif

TEST_CASE("coroutines on one thread: connect, accept, echo, close") {
    asio::io_context context;
    auto listener = Listener::bind(":0", psk(1));
    REQUIRE(listener);
    const auto bytes = bytes_of(1, 6'000'000);
    auto served = asio::co_spawn(context, serve_echo(*listener), asio::use_future);
    auto echo = asio::co_spawn(context, ask_for_echo(listener->local_address().port, bytes), asio::use_future);
    context.run();
    CHECK(echo.get() == bytes);
    CHECK_NOTHROW(served.get());
}

TEST_CASE("a handler runs on the executor it is bound to, never within the call") {
    asio::io_context context;
    auto pair = connected_pair();
    const auto here = std::this_thread::get_id();
    bool called = false;
    async_open_stream(pair.client, asio::bind_executor(context, [&](error_code error, const Stream&) {
                          CHECK_FALSE(error);
                          CHECK(std::this_thread::get_id() == here);
                          called = true;
                      }));
    std::this_thread::sleep_for(100ms);
    CHECK_FALSE(called);
    context.run();  // returns when the handler has run: it is outstanding work
    CHECK(called);
}

TEST_CASE("futures throw the error") {
    auto pair = connected_pair();
    auto accepted = async_accept_stream(pair.server, asio::use_future);
    pair.client.close(9, "no");
    try {
        static_cast<void>(accepted.get());
        FAIL("a stream of a closed session");
    } catch (const boost::system::system_error& failed) {
        CHECK(failed.code() == error_code(9, boost_application_category()));
    }
    auto refused = async_connect("127.0.0.1", pair.listener.local_address().port, psk(2), asio::use_future);
    try {
        static_cast<void>(refused.get());
        FAIL("a session with the wrong key");
    } catch (const boost::system::system_error& failed) {
        CHECK(failed.code() == error_code(static_cast<int>(ErrorCode::authentication), boost_error_category()));
    }
}

TEST_CASE("cancel ends a call with operation_aborted, and the stream goes on") {
    asio::io_context context;
    auto pair = connected_pair();
    auto ours = pair.client.open_stream();
    REQUIRE(ours);
    REQUIRE(ours->write(bytes_of(1, 1)));
    auto theirs = pair.server.accept_stream(60s);
    REQUIRE(theirs);
    std::vector<std::byte> out(10);
    REQUIRE(theirs->read(out));
    std::optional<error_code> told;
    async_read_some(*theirs, out, asio::bind_executor(context, [&](error_code error, std::size_t) { told = error; }));
    theirs->cancel();
    context.run();
    REQUIRE(told);
    CHECK(*told == asio::error::operation_aborted);
    REQUIRE(ours->write(bytes_of(2, 5)));
    CHECK(async_read_some(*theirs, out, asio::use_future).get() > 0);
}

TEST_CASE("calls that wait end with the session, whoever ends it") {
    auto pair = connected_pair();
    auto closed = async_wait_closed(pair.server, asio::use_future);
    auto accepted = async_accept_stream(pair.server, asio::use_future);
    { const Session gone = std::move(pair.server); }
    CHECK_NOTHROW(closed.get());
    CHECK_THROWS_AS(accepted.get(), boost::system::system_error);
    auto next = async_accept(pair.listener, asio::use_future);
    pair.listener.close();
    CHECK_THROWS_AS(next.get(), boost::system::system_error);
}

TEST_CASE("pieces of a placed stream by coroutine") {
    asio::io_context context;
    auto pair = connected_pair();
    const auto bytes = bytes_of(3, 2'000'000);
    auto ours = pair.client.open_stream(StreamKind::placed);
    REQUIRE(ours);
    auto sent = async_write(*ours, bytes, asio::use_future);
    std::size_t total = 0;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto stream = co_await async_accept_stream(pair.server, StreamKind::placed, asio::use_awaitable);
            while (const auto piece = co_await async_read_piece(stream, asio::use_awaitable)) {
                total += piece->bytes.size();
            }
        },
        asio::detached);
    std::thread runner([&] { context.run(); });
    CHECK(sent.get() == bytes.size());
    CHECK(ours->finish());
    runner.join();
    CHECK(total == bytes.size());
}

#if BOOST_VERSION >= 107700
#include <boost/asio/bind_cancellation_slot.hpp>
TEST_CASE("a cancellation slot ends one call") {
    asio::io_context context;
    auto pair = connected_pair();
    asio::cancellation_signal signal;
    std::optional<error_code> told;
    async_accept_stream(
        pair.server,
        asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(context, [&](error_code error, const Stream&) { told = error; })));
    signal.emit(asio::cancellation_type::all);
    context.run();
    REQUIRE(told);
    CHECK(*told == asio::error::operation_aborted);
}
#endif
