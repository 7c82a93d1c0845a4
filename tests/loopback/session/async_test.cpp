// Sessions with Asio's completion tokens: callbacks, futures, coroutines.
#include "udtx/async.hpp"

#include <array>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <thread>

#include "io/udp_socket.hpp"
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
/// Two threads share an exception in a future. The C++ library counts its references in code that the sanitizer does
/// not instrument. The sanitizer therefore reports the release of the last reference as a race.
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
    context.run();  // returns once the handler has run: the call counts as outstanding work
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

TEST_CASE("codes compare equal to conditions of Boost and of the standard library alike") {
    namespace errc = boost::system::errc;
    const auto code_of = [](ErrorCode code) { return to_boost(Error{code, ""}); };
    CHECK(code_of(ErrorCode::timeout) == errc::timed_out);
    CHECK(code_of(ErrorCode::timeout) == std::errc::timed_out);
    CHECK(code_of(ErrorCode::invalid_argument) == errc::invalid_argument);
    CHECK(code_of(ErrorCode::cancelled) == errc::operation_canceled);
    CHECK(code_of(ErrorCode::network) != errc::timed_out);
    // A value of one category has no meaning in another one.
    CHECK(code_of(ErrorCode::network).default_error_condition().category() == boost_error_category());
    CHECK(error_code(ETIMEDOUT, boost_application_category()) != errc::timed_out);
}

TEST_CASE("as_result gives the text of the error by any token, and throws nothing") {
    auto pair = connected_pair();
    const std::uint16_t port = pair.listener.local_address().port;
    auto accepted = async_accept_stream(pair.server, as_result(asio::use_future));
    auto closed = async_wait_closed(pair.server, as_result(asio::use_future));
    pair.client.close(9, "no");
    const auto none = accepted.get();
    REQUIRE_FALSE(none);
    CHECK(none.error().application_code == 9);
    CHECK(none.error().message == "the peer says: no");
    CHECK(closed.get().error().message == "the peer says: no");
    const auto blocked = Session::connect("127.0.0.1", 0, psk(1));
    asio::io_context context;
    std::optional<Result<Session>> started;
    async_connect("127.0.0.1", 0, psk(1),
                  as_result(asio::bind_executor(context, [&](auto result) { started = std::move(result); })));
    CHECK_FALSE(started);
    context.run();
    REQUIRE((started && !*started));
    CHECK(started->error().message == blocked.error().message);
    const auto connect = [&]() -> asio::awaitable<void> {
        const auto refused = co_await async_connect("127.0.0.1", port, psk(2), as_result(asio::use_awaitable));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == ErrorCode::authentication);
        CHECK(refused.error().message.find("key") != std::string::npos);
        CHECK(co_await async_connect("127.0.0.1", port, psk(1), as_result(asio::use_awaitable)));
    };
    auto done = asio::co_spawn(context, connect, asio::use_future);
    context.restart();
    context.run();
    CHECK_NOTHROW(done.get());
}

TEST_CASE("as_result gives what the call that blocks gives: 0 at the end of a stream, cancelled") {
    auto pair = connected_pair();
    auto ours = pair.client.open_stream();
    REQUIRE((ours && ours->write(bytes_of(1, 1)) && ours->finish()));
    auto theirs = pair.server.accept_stream(60s);
    REQUIRE(theirs);
    std::vector<std::byte> out(10);
    CHECK(async_read_some(*theirs, out, as_result(asio::use_future)).get().value() == 1);
    CHECK(async_read_some(*theirs, out, as_result(asio::use_future)).get().value() == 0);
    auto waiting = async_accept_stream(pair.server, as_result(asio::use_future));
    pair.server.cancel();
    CHECK(waiting.get().error().code == ErrorCode::cancelled);
}

TEST_CASE("Asio's own functions read and write a stream") {
    asio::io_context context;
    auto pair = connected_pair();
    const auto far = [&]() -> asio::awaitable<void> {
        AsioStream stream(co_await async_accept_stream(pair.server, asio::use_awaitable));
        std::string line;
        const std::size_t size =
            co_await asio::async_read_until(stream, asio::dynamic_buffer(line), '\n', asio::use_awaitable);
        CHECK(line.substr(0, size) == "how much?\n");
        const auto answer = bytes_of(5, 3'000'000);
        const std::array<asio::const_buffer, 3> parts{asio::buffer(answer, 1'000'000), asio::const_buffer(),
                                                      asio::buffer(answer) + 1'000'000};
        CHECK(co_await asio::async_write(stream, parts, asio::use_awaitable) == answer.size());
    };
    const auto near = [&]() -> asio::awaitable<void> {
        AsioStream stream(co_await async_open_stream(pair.client, asio::use_awaitable));
        co_await asio::async_write(stream, asio::buffer("how much?\n", 10), asio::use_awaitable);
        std::vector<std::byte> head(5);
        std::vector<std::byte> answer(3'000'000 - 5);
        const std::array<asio::mutable_buffer, 3> parts{asio::mutable_buffer(), asio::buffer(head),
                                                        asio::buffer(answer)};
        CHECK(co_await asio::async_read(stream, parts, asio::use_awaitable) == 3'000'000);
        head.insert(head.end(), answer.begin(), answer.end());
        CHECK(head == bytes_of(5, 3'000'000));
        error_code end;
        CHECK(co_await asio::async_read(stream, asio::buffer(head), asio::redirect_error(asio::use_awaitable, end)) ==
              0);
        CHECK(end == asio::error::eof);
    };
    auto served = asio::co_spawn(context, far, asio::use_future);
    auto asked = asio::co_spawn(context, near, asio::use_future);
    context.run();
    CHECK_NOTHROW(served.get());
    CHECK_NOTHROW(asked.get());
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

TEST_CASE("pieces of an unordered stream by coroutine") {
    asio::io_context context;
    auto pair = connected_pair();
    const auto bytes = bytes_of(3, 2'000'000);
    auto ours = pair.client.open_stream(StreamKind::unordered);
    REQUIRE(ours);
    auto sent = async_write(*ours, bytes, asio::use_future);
    std::size_t total = 0;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto stream = co_await async_accept_stream(pair.server, StreamKind::unordered, asio::use_awaitable);
            while (const auto piece = co_await async_read_piece(stream, asio::use_awaitable)) {
                total += piece->data.size();
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
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

namespace {

using namespace asio::experimental::awaitable_operators;

asio::awaitable<void> rest(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

struct AsyncStreams {
    explicit AsyncStreams(Pair& pair) {
        auto opened = pair.client.open_stream();
        REQUIRE(opened);
        ours = std::move(*opened);
        REQUIRE(ours.write(bytes_of(1, 1)));
        auto accepted = pair.server.accept_stream(60s);
        REQUIRE(accepted);
        theirs = std::move(*accepted);
        std::vector<std::byte> byte(1);
        REQUIRE(theirs.read(byte));
    }
    Stream ours;
    Stream theirs;
};

/// Returns the error that `begin` reports if its signal is emitted while it waits. Its handler runs in `context`.
template <class... Values, class Begin>
error_code told_after_signal(asio::io_context& context, const Begin& begin) {
    asio::cancellation_signal signal;
    std::optional<error_code> told;
    begin(asio::bind_cancellation_slot(
        signal.slot(), asio::bind_executor(context, [&](error_code error, const Values&...) { told = error; })));
    std::this_thread::sleep_for(50ms);
    context.poll();
    REQUIRE_FALSE(told);
    signal.emit(asio::cancellation_type::all);
    context.restart();
    context.run();
    REQUIRE(told);
    signal.emit(asio::cancellation_type::all);
    return *told;
}

}  // namespace

TEST_CASE("a cancellation slot ends one call, and the object goes on") {
    asio::io_context context;
    auto pair = connected_pair();
    AsyncStreams streams(pair);
    std::vector<std::byte> out(10);
    const error_code aborted = asio::error::operation_aborted;
    auto other = async_wait_closed(pair.server, asio::use_future);
    CHECK(told_after_signal<Session>(context, [&](auto token) { async_accept(pair.listener, token); }) == aborted);
    CHECK(told_after_signal<Stream>(context, [&](auto token) { async_accept_stream(pair.server, token); }) == aborted);
    CHECK(told_after_signal<>(context, [&](auto token) { async_wait_closed(pair.server, token); }) == aborted);
    CHECK(told_after_signal<PathEvent>(context, [&](auto token) { async_wait_path_event(pair.server, token); }) ==
          aborted);
    CHECK(told_after_signal<std::size_t>(context, [&](auto token) { async_read_some(streams.theirs, out, token); }) ==
          aborted);
    CHECK(other.wait_for(0s) == std::future_status::timeout);
    REQUIRE(streams.ours.write(bytes_of(2, 5)));
    CHECK(async_read_some(streams.theirs, out, asio::use_future).get() > 0);
    pair.client.close();
    CHECK_NOTHROW(other.get());
}

TEST_CASE("a cancellation slot ends a write and a finish whose peer reads nothing") {
    TransportConfig config;
    config.stream_window = 1U << 20U;
    config.send_buffer = 1U << 20U;
    asio::io_context context;
    auto pair = connected_pair(config);
    AsyncStreams streams(pair);
    const auto bytes = bytes_of(3, 16U << 20U);
    const error_code aborted = asio::error::operation_aborted;
    CHECK(told_after_signal<std::size_t>(context, [&](auto token) { async_write(streams.ours, bytes, token); }) ==
          aborted);
    CHECK(told_after_signal<>(context, [&](auto token) { async_finish(streams.ours, token); }) == aborted);
    auto unordered = pair.server.open_stream(StreamKind::unordered);
    REQUIRE(unordered);
    REQUIRE(unordered->write(bytes_of(4, 1)));
    auto there = pair.client.accept_stream(60s, StreamKind::unordered);
    REQUIRE(there);
    REQUIRE(there->read_piece(60s));
    CHECK(told_after_signal<std::optional<Piece>>(context, [&](auto token) { async_read_piece(*there, token); }) ==
          aborted);
}

TEST_CASE("a cancellation slot ends a connect to whom nobody answers for") {
    Address place;
    place.family = Address::Family::v4;
    place.ip = {127, 0, 0, 1};
    const auto silent = io::open_portable_socket(place, {});
    REQUIRE(silent);
    asio::io_context context;
    CHECK(told_after_signal<Session>(context, [&](auto token) {
              async_connect("127.0.0.1", (*silent)->local_address().port, psk(1), token);
          }) == asio::error::operation_aborted);
}

TEST_CASE("a signal before the call begins to wait, or after it has ended, is harmless") {
    asio::io_context context;
    auto pair = connected_pair();
    asio::cancellation_signal signal;
    signal.emit(asio::cancellation_type::all);
    std::optional<error_code> told;
    async_open_stream(
        pair.client,
        asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(context, [&](error_code error, const Stream&) { told = error; })));
    std::this_thread::sleep_for(50ms);
    signal.emit(asio::cancellation_type::all);
    context.run();
    CHECK(told == error_code());
}

TEST_CASE("operators of awaitables make time-outs of calls, after which the objects go on") {
    asio::io_context context;
    auto pair = connected_pair();
    AsyncStreams streams(pair);
    Address place;
    place.family = Address::Family::v4;
    place.ip = {127, 0, 0, 1};
    const auto silent = io::open_portable_socket(place, {});
    REQUIRE(silent);
    const std::uint16_t nowhere = (*silent)->local_address().port;
    const auto user = [&]() -> asio::awaitable<void> {
        std::vector<std::byte> out(10);
        const auto read = co_await (async_read_some(streams.theirs, out, asio::use_awaitable) || rest(30ms));
        CHECK(read.index() == 1);
        const auto accepted = co_await (async_accept_stream(pair.server, asio::use_awaitable) || rest(30ms));
        CHECK(accepted.index() == 1);
        const auto connected =
            co_await (async_connect("127.0.0.1", nowhere, psk(1), asio::use_awaitable) || rest(30ms));
        CHECK(connected.index() == 1);
        co_await async_write(streams.ours, out, asio::use_awaitable);
        const auto again = co_await (async_read_some(streams.theirs, out, asio::use_awaitable) || rest(60s));
        REQUIRE(again.index() == 0);
        CHECK(std::get<0>(again) > 0);
        const auto both =
            co_await (async_connect("127.0.0.1", pair.listener.local_address().port, psk(1), asio::use_awaitable) &&
                      async_accept(pair.listener, asio::use_awaitable));
        CHECK(std::get<0>(both).remote() == pair.listener.local_address());
    };
    auto done = asio::co_spawn(context, user, asio::use_future);
    context.run();
    CHECK_NOTHROW(done.get());
}
#endif
