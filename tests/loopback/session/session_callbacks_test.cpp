// Callbacks make every allowed call: they destroy or close the object of their call, start the next call, and cancel.
#include <atomic>
#include <functional>
#include <future>
#include <memory>

#include "session_fixture.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

template <class T>
ErrorCode code_of(const Result<T>& result) {
    return result ? ErrorCode{} : result.error().code;
}

template <class T>
T soon(std::promise<T>& promise) {
    auto future = promise.get_future();
    REQUIRE(future.wait_for(60s) == std::future_status::ready);
    return future.get();
}

struct Opened {
    Stream ours;
    Stream theirs;
};

/// Opens a stream over which one byte was sent and read.
Opened opened_stream(Session& from, Session& to) {
    auto ours = from.open_stream();
    REQUIRE(ours);
    std::vector<std::byte> byte(1);
    REQUIRE(ours->write(byte));
    auto theirs = to.accept_stream(60s);
    REQUIRE(theirs);
    REQUIRE(theirs->read(byte));
    return {std::move(*ours), std::move(*theirs)};
}

}  // namespace

TEST_CASE("a callback may destroy its session: on the protocol thread, within close, within the call") {
    auto pair = connected_pair();
    auto client = std::make_unique<Session>(std::move(pair.client));
    std::promise<ErrorCode> told;
    const auto destroy = [&](const Result<void>& closed) {
        client.reset();
        told.set_value(code_of(closed));
    };
    SECTION("the peer closes") {
        client->start_wait_closed(destroy);
        pair.server.close(3, "enough");
    }
    SECTION("this side closes") {
        client->start_wait_closed(destroy);
        Session& session = *client;
        session.close();
    }
    SECTION("it had closed before") {
        client->close();
        Session& session = *client;
        session.start_wait_closed(destroy);
    }
    soon(told);
    CHECK_FALSE(client);
}

TEST_CASE("a callback may destroy its listener and the session it is given") {
    auto pair = connected_pair();
    auto listener = std::make_unique<Listener>(std::move(pair.listener));
    std::promise<ErrorCode> told;
    const auto destroy = [&](const Result<Session>& session) {
        listener.reset();
        told.set_value(code_of(session));
    };
    SECTION("somebody comes") {
        listener->start_accept(destroy);
        const auto port = listener->local_address().port;
        (void)Session::connect("127.0.0.1", port, psk(1));
        CHECK(soon(told) == ErrorCode{});
    }
    SECTION("somebody had come") {
        auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1));
        REQUIRE(client);
        pair.server = Session();
        Listener& waiting = *listener;
        waiting.start_accept(destroy);
        CHECK(soon(told) == ErrorCode{});
    }
    SECTION("it is closed") {
        listener->start_accept(destroy);
        Listener& waiting = *listener;
        pair.server = Session();
        waiting.close();
        CHECK(soon(told) == ErrorCode::interrupted);
    }
    CHECK_FALSE(listener);
}

TEST_CASE("a callback may drop the last copy of its stream") {
    auto pair = connected_pair();
    auto [ours, theirs] = opened_stream(pair.client, pair.server);
    auto held = std::make_unique<Stream>(std::move(theirs));
    std::vector<std::byte> out(10);
    std::promise<ErrorCode> told;
    held->start_read(out, [&](const Result<std::size_t>& read) {
        held.reset();
        told.set_value(code_of(read));
    });
    SECTION("bytes come") { REQUIRE(ours.write(bytes_of(1, 4))); }
    SECTION("it is cancelled") { Stream(*held).cancel(); }
    SECTION("its session goes") { pair.server = Session(); }
    soon(told);
    CHECK_FALSE(held);
}

TEST_CASE("a call that was started keeps its stream open") {
    auto pair = connected_pair();
    auto [ours, theirs] = opened_stream(pair.client, pair.server);
    std::vector<std::byte> out(10);
    std::promise<Result<std::size_t>> told;
    theirs.start_read(out, [&](Result<std::size_t> read) { told.set_value(std::move(read)); });
    theirs = Stream();
    std::this_thread::sleep_for(50ms);
    REQUIRE(ours.write(bytes_of(1, 4)));
    const auto read = soon(told);
    REQUIRE(read);
    CHECK(*read > 0);
    CHECK(out[0] == bytes_of(1, 4)[0]);
}

TEST_CASE("a callback may cancel, and begin the same call again") {
    auto pair = connected_pair();
    auto [ours, theirs] = opened_stream(pair.client, pair.server);
    std::vector<std::byte> out(10);
    std::promise<std::pair<ErrorCode, ErrorCode>> told;
    theirs.start_read(out, [&, stream = theirs](const Result<std::size_t>& first) mutable {
        const auto second = stream.start_read(out, [&, code = code_of(first)](const Result<std::size_t>& again) {
            told.set_value({code, code_of(again)});
        });
        stream.cancel(second);
    });
    pair.server.cancel();
    CHECK(soon(told) == std::pair{ErrorCode::cancelled, ErrorCode::cancelled});
}

TEST_CASE("a call that would wait for the protocol thread on that thread fails instead") {
    auto pair = connected_pair();
    auto [ours, theirs] = opened_stream(pair.client, pair.server);
    std::vector<std::byte> out(10);
    std::promise<std::vector<ErrorCode>> told;
    theirs.start_read(out, [&, stream = theirs](const Result<std::size_t>&) mutable {
        std::vector<std::byte> more(10);
        told.set_value({code_of(stream.read(more)), code_of(stream.read(more, 0ms)), code_of(pair.server.stats()),
                        code_of(pair.server.wait_closed()), code_of(pair.listener.accept(60s))});
    });
    REQUIRE(ours.write(bytes_of(1, 1)));
    const auto never = ErrorCode::invalid_argument;
    CHECK(soon(told) == std::vector{never, ErrorCode::timeout, never, never, never});
}

TEST_CASE("reads that keep coming do not hold up a write that waits") {
    for (int run = 0; run < 5; ++run) {
        auto pair = connected_pair();
        auto [up, up_there] = opened_stream(pair.client, pair.server);
        auto [down, down_here] = opened_stream(pair.server, pair.client);
        const auto bytes = bytes_of(5, 40'000'000);
        std::promise<ErrorCode> written;
        up.start_write(bytes, [&](const Result<std::size_t>& taken) { written.set_value(code_of(taken)); });
        std::vector<std::byte> out(10);
        std::function<void()> next = [&, stream = down_here]() mutable {
            stream.start_read(out, [&](const Result<std::size_t>& read) {
                if (read) next();
            });
        };
        next();
        std::atomic<bool> over = false;
        std::thread pinger([&, stream = down]() mutable {
            while (!over && stream.write(bytes_of(1, 1))) std::this_thread::sleep_for(100us);
        });
        std::thread reader([stream = up_there]() mutable {
            std::vector<std::byte> part(200'000);
            while (stream.read(part)) {
            }
        });
        auto answer = written.get_future();
        CHECK(answer.wait_for(60s) == std::future_status::ready);
        over = true;
        pinger.join();
        pair.client.close();
        reader.join();
    }
}

TEST_CASE("close and cancel from several threads: each call that waits calls back once") {
    for (int run = 0; run < 20; ++run) {
        auto pair = connected_pair();
        auto [ours, theirs] = opened_stream(pair.client, pair.server);
        std::vector<std::byte> out(10);
        std::atomic<int> calls = 0;
        theirs.start_read(out, [&](const Result<std::size_t>&) { ++calls; });
        pair.server.start_accept_stream(StreamKind::ordered, [&](const Result<Stream>&) { ++calls; });
        pair.server.start_wait_closed([&](const Result<void>&) { ++calls; });
        pair.server.start_wait_path_event([&](const Result<PathEvent>&) { ++calls; });
        std::vector<std::thread> threads;
        threads.emplace_back([&] { pair.server.close(1, "one"); });
        threads.emplace_back([&] { pair.server.close(2, "two"); });
        threads.emplace_back([&] { pair.client.close(3, "three"); });
        threads.emplace_back([&] { pair.server.cancel(); });
        for (auto& thread : threads) thread.join();
        CHECK(calls == 4);
    }
}
