// Transfers with completion tokens: callback, future, coroutine.
#include "udtx/transfer/async.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <thread>

#include "transfer_fixture.hpp"

using namespace udtx;
using namespace udtx::test;
using transfer::Outcome;
namespace asio = boost::asio;

TEST_CASE("a callback hears of the end on its executor, and the context runs until then") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    asio::io_context context;
    std::thread::id called_on;
    std::optional<Outcome> outcome;
    auto token = [&, only_moved = std::make_unique<int>(1)](Outcome ended) {
        called_on = std::this_thread::get_id();
        outcome = std::move(ended);
    };
    transfer::async_send(context.get_executor(), served.push({.what = {.sources = {(home / "tree").string()}}}),
                         std::move(token));
    CHECK_FALSE(outcome);
    context.run();
    REQUIRE(outcome);
    CHECK(outcome->status);
    CHECK(outcome->files == 4);
    CHECK(called_on == std::this_thread::get_id());
}

TEST_CASE("a future has the outcome, also of what cannot be started") {
    const Served served;
    make_tree(served.root / "tree");
    const TemporaryDirectory home;
    asio::io_context context;
    auto good = transfer::async_receive(
        context.get_executor(), served.pull({.what = {.sources = {"tree"}}, .destination = (home / "copy").string()}),
        asio::use_future);
    auto bad = transfer::async_send(context.get_executor(), served.push({.what = {.sources = {"/no/such/file"}}}),
                                    asio::use_future);
    context.run();
    CHECK(good.get().files == 4);
    CHECK(bad.get().status.error().code == ErrorCode::file_io);
}

TEST_CASE("a coroutine sends and fetches again") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    asio::io_context context;
    Outcome there;
    Outcome back;
    transfer::SendOptions push;
    push.what.sources = {(home / "tree").string()};
    transfer::ReceiveOptions pull;
    pull.what.sources = {"tree"};
    pull.destination = (home / "copy").string();
    const auto both = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        there = co_await transfer::async_send(executor, served.push(push), asio::use_awaitable);
        auto started = transfer::start_receive(served.pull(pull));
        if (started) back = co_await transfer::async_wait(*started, executor, asio::use_awaitable);
    };
    asio::co_spawn(context, both, asio::detached);
    context.run();
    CHECK(there.status);
    CHECK(back.status);
    CHECK(back.files == 4);
    CHECK(equal(home / "tree/sub/large", home / "copy/sub/large"));
}

TEST_CASE("a handler's own executor has precedence") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    asio::io_context context;
    const auto strand = asio::make_strand(context);
    bool on_strand = false;
    transfer::async_send(context.get_executor(), served.push({.what = {.sources = {(home / "tree").string()}}}),
                         asio::bind_executor(strand, [&](const Outcome& outcome) {
                             on_strand = strand.running_in_this_thread() && outcome.status.ok();
                         }));
    context.run();
    CHECK(on_strand);
}

#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

namespace {

/// A push that takes minutes.
transfer::SendRequest slow_push(const Served& served, const TemporaryDirectory& home) {
    make_tree(home / "tree", 30'000'000);
    auto request = served.push({.what = {.sources = {(home / "tree").string()}}});
    request.peer.connection.transport.max_rate = Rate::bits_per_second(1e6);
    return request;
}

}  // namespace

TEST_CASE("a cancellation signal ends a transfer in good order") {
    const Served served;
    const TemporaryDirectory home;
    asio::io_context context;
    asio::cancellation_signal signal;
    std::optional<Outcome> outcome;
    const auto token = [&] {
        return asio::bind_cancellation_slot(signal.slot(), [&](Outcome ended) { outcome = std::move(ended); });
    };
    std::optional<transfer::Transfer> started;
    SECTION("that it began, at once") {
        transfer::async_send(context.get_executor(), slow_push(served, home), token());
    }
    SECTION("that it began, while it runs") {
        transfer::async_send(context.get_executor(), slow_push(served, home), token());
        context.run_for(500ms);
        CHECK_FALSE(outcome);
    }
    SECTION("that was started otherwise") {
        auto begun = transfer::start_send(slow_push(served, home));
        REQUIRE(begun);
        started = std::move(*begun);
        transfer::async_wait(*started, context.get_executor(), token());
    }
    signal.emit(asio::cancellation_type::all);
    context.run();
    REQUIRE(outcome);
    CHECK(outcome->status.error().code == ErrorCode::interrupted);
    signal.emit(asio::cancellation_type::all);
}

TEST_CASE("an operator of awaitables makes a time-out of a transfer") {
    using namespace asio::experimental::awaitable_operators;
    const Served served;
    const TemporaryDirectory home;
    asio::io_context context;
    std::size_t first = 0;
    const auto user = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto request = slow_push(served, home);
        asio::steady_timer timer(executor, 300ms);
        const auto ended = co_await (transfer::async_send(executor, std::move(request), asio::use_awaitable) ||
                                     timer.async_wait(asio::use_awaitable));
        first = ended.index();
    };
    asio::co_spawn(context, user, asio::detached);
    context.run();
    CHECK(first == 1);
}
#endif
