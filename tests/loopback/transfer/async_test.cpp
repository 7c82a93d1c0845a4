// Transfers with completion tokens: callback, future, coroutine.
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
#include "udtx/transfer/async.hpp"

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
