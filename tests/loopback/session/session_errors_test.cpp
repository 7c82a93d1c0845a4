// Each error that the headers of sessions, listeners and streams document, caused once.
#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <string>

#include "session_fixture.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

constexpr ErrorCode kFine{};

template <class T>
ErrorCode what(const Result<T>& result) {
    return result ? kFine : result.error().code;
}

/// Starts a call and returns the error that its callback gets, within the call or soon after.
template <class T>
ErrorCode told(const std::function<CallId(Callback<T>)>& start) {
    const auto promise = std::make_shared<std::promise<ErrorCode>>();
    start([promise](const Result<T>& result) { promise->set_value(what(result)); });
    auto future = promise->get_future();
    REQUIRE(future.wait_for(60s) == std::future_status::ready);
    return future.get();
}

using Codes = std::map<std::string, ErrorCode>;

Codes of_session(Session& session) {
    return {
        {"open_stream", what(session.open_stream())},
        {"accept_stream", what(session.accept_stream(60s))},
        {"start_open_stream",
         told<Stream>([&](auto done) { return session.start_open_stream(StreamKind::ordered, done); })},
        {"start_accept_stream",
         told<Stream>([&](auto done) { return session.start_accept_stream(StreamKind::unordered, done); })},
        {"set_max_rate", what(session.set_max_rate(Rate::bits_per_second(1e6)))},
        {"set_peer_rate", what(session.set_peer_rate(Rate::bits_per_second(1e6)))},
        {"wait_path_event", what(session.wait_path_event(60s))},
        {"start_wait_path_event", told<PathEvent>([&](auto done) { return session.start_wait_path_event(done); })},
        {"remove_path", what(session.remove_path(PathId{0}))},
    };
}

Codes of_writing(Stream& stream) {
    static const std::vector<std::byte> bytes(1);
    return {
        {"write", what(stream.write(bytes))},
        {"write_some", what(stream.write_some(bytes))},
        {"write_chunk", what(stream.write_chunk(Chunk::copy_of(bytes)))},
        {"finish", what(stream.finish())},
        {"start_write", told<std::size_t>([&](auto done) { return stream.start_write(bytes, done); })},
        {"start_write_some", told<std::size_t>([&](auto done) { return stream.start_write_some(bytes, done); })},
        {"start_write_chunk",
         told<void>([&](auto done) { return stream.start_write_chunk(Chunk::copy_of(bytes), done); })},
        {"start_finish", told<void>([&](auto done) { return stream.start_finish(done); })},
    };
}

Codes of_read(Stream& stream) {
    static std::vector<std::byte> out(1);
    return {{"read", what(stream.read(out))},
            {"read_full", what(stream.read_full(out))},
            {"read_chunk", what(stream.read_chunk())},
            {"start_read_chunk", told<Chunk>([&](auto done) { return stream.start_read_chunk(done); })},
            {"start_read", told<std::size_t>([&](auto done) { return stream.start_read(out, done); })}};
}

Codes of_read_piece(Stream& stream) {
    return {{"read_piece", what(stream.read_piece())},
            {"start_read_piece", told<std::optional<Piece>>([&](auto done) { return stream.start_read_piece(done); })}};
}

/// Lists the calls that return another error.
std::string other_than(ErrorCode code, const Codes& codes) {
    std::string other;
    for (const auto& [call, said] : codes) {
        if (said != code) other += call + ": " + make_error_code(said).message() + "; ";
    }
    return other;
}

struct Ends {
    Stream opener;
    Stream acceptor;
};

Ends ends_of_stream(Pair& pair, StreamKind kind = StreamKind::ordered) {
    auto opened = pair.client.open_stream(kind);
    REQUIRE(opened);
    REQUIRE(opened->write(bytes_of(1, 1)));
    auto accepted = pair.server.accept_stream(60s, kind);
    REQUIRE(accepted);
    return {std::move(*opened), std::move(*accepted)};
}

}  // namespace

TEST_CASE("what there is none of gives invalid_argument, or nothing") {
    constexpr auto code = ErrorCode::invalid_argument;
    Session session;
    CHECK(other_than(code, of_session(session)).empty());
    CHECK(what(session.wait_closed()) == code);
    CHECK(told<void>([&](auto done) { return session.start_wait_closed(done); }) == code);
    CHECK(what(session.stats()) == code);
    CHECK(what(session.add_path({.local = "127.0.0.1"})) == code);
    CHECK_FALSE(session.close_reason());
    CHECK_FALSE(session.peer_key());
    CHECK(session.remote() == Address{});
    session.close();
    session.cancel();
    session.cancel(CallId{1});
    Listener listener;
    CHECK(what(listener.accept(60s)) == code);
    CHECK(told<Session>([&](auto done) { return listener.start_accept(done); }) == code);
    CHECK(listener.local_address() == Address{});
    listener.cancel();
    listener.cancel(CallId{1});
    listener.close();
    Stream stream;
    CHECK(other_than(code, of_writing(stream)).empty());
    CHECK(other_than(code, of_read(stream)).empty());
    CHECK(what(stream.read_piece()) == code);
    CHECK(stream.id() == StreamId{});
    stream.reset(1);
    stream.stop_receiving(1);
    stream.cancel();
    stream.cancel(CallId{1});
}

TEST_CASE("what was moved from is none, and what is moved to goes on") {
    constexpr auto code = ErrorCode::invalid_argument;
    auto pair = connected_pair();
    auto [opener, acceptor] = ends_of_stream(pair);
    const Session client = std::move(pair.client);
    const Stream stream = std::move(opener);
    const Listener listener = std::move(pair.listener);
    // NOLINTBEGIN(bugprone-use-after-move): the test checks moved-from objects
    CHECK(other_than(code, of_session(pair.client)).empty());
    CHECK(other_than(code, of_writing(opener)).empty());
    CHECK(what(pair.listener.accept(60s)) == code);
    // NOLINTEND(bugprone-use-after-move)
    CHECK(client.stats());
    CHECK(Stream(stream).write(bytes_of(1, 1)));
    CHECK(listener.local_address().port != 0);
    pair.server = std::move(pair.client);  // closes the session that it held before
    CHECK(what(acceptor.finish()) == ErrorCode::interrupted);
}

TEST_CASE("calls of an ended session give its end, at both ends and of streams, too") {
    auto pair = connected_pair();
    auto [opener, acceptor] = ends_of_stream(pair);
    REQUIRE(opener.write(bytes_of(1, 1)));
    pair.client.close(5, "five");
    REQUIRE_FALSE(pair.server.wait_closed(60s));
    for (Session* session : {&pair.client, &pair.server}) {
        CHECK(other_than(ErrorCode::interrupted, of_session(*session)).empty());
        CHECK(session->close_reason()->wire_code == 5);
    }
    std::vector<std::byte> out(10);
    while (acceptor.read(out).ok()) {
    }
    for (Stream* stream : {&opener, &acceptor}) {
        CHECK(other_than(ErrorCode::interrupted, of_writing(*stream)).empty());
        CHECK(other_than(ErrorCode::interrupted, of_read(*stream)).empty());
    }
    CHECK(pair.server.open_stream().error().application_code == 5U);
    CHECK(acceptor.read(out).error().application_code == 5U);
    CHECK(what(pair.client.add_path({.local = "127.0.0.1"})) == ErrorCode::interrupted);
}

TEST_CASE("calls that are not of the stream's kind are refused") {
    constexpr auto code = ErrorCode::invalid_argument;
    auto pair = connected_pair();
    auto ordered = ends_of_stream(pair);
    CHECK(other_than(code, of_read_piece(ordered.opener)).empty());
    CHECK(other_than(code, of_read_piece(ordered.acceptor)).empty());
    auto unordered = ends_of_stream(pair, StreamKind::unordered);
    CHECK(other_than(code, of_read(unordered.opener)).empty());
    CHECK(other_than(code, of_read(unordered.acceptor)).empty());
    CHECK(other_than(code, of_read_piece(unordered.opener)).empty());
    CHECK(other_than(code, of_writing(unordered.acceptor)).empty());
    CHECK(unordered.opener.finish(60s));
}

TEST_CASE("no time-out, not even the longest or one that was over before it began, is waited for otherwise") {
    auto pair = connected_pair();
    auto [opener, acceptor] = ends_of_stream(pair);
    std::vector<std::byte> out(10);
    REQUIRE(acceptor.read(out));
    for (const auto none : {0ms, -1ms, std::chrono::milliseconds::min()}) {
        CHECK(what(acceptor.read(out, none)) == ErrorCode::timeout);
        CHECK(what(pair.server.accept_stream(none)) == ErrorCode::timeout);
        CHECK(what(pair.server.wait_closed(none)) == ErrorCode::timeout);
        CHECK(what(pair.server.wait_path_event(none)) == ErrorCode::timeout);
        CHECK(what(pair.listener.accept(none)) == ErrorCode::timeout);
    }
    for (const auto none : {0ms, -1ms, std::chrono::milliseconds::min()})
        CHECK(opener.write(out, none));  // there is room to write
    CHECK(acceptor.read(out, 60s));
    CHECK(acceptor.read(std::span<std::byte>(), 0ms));
    pair.client.close();
    CHECK(pair.server.wait_closed(kForever - 1ms));
    auto unordered_pair = connected_pair();
    auto unordered = ends_of_stream(unordered_pair, StreamKind::unordered);
    REQUIRE(unordered.acceptor.read_piece(60s));
    CHECK(what(unordered.acceptor.read_piece(0ms)) == ErrorCode::timeout);
}

TEST_CASE("a call that was started is cancelled by its name, the others wait on") {
    auto pair = connected_pair();
    auto ends = ends_of_stream(pair);
    std::vector<std::byte> out(10);
    REQUIRE(ends.acceptor.read(out));
    std::promise<ErrorCode> other;
    pair.server.start_wait_closed([&](const Result<void>& closed) { other.set_value(what(closed)); });
    const auto by = [](auto& object, const auto& start) {
        ErrorCode code = kFine;
        object.cancel(start([&](const auto& result) { code = what(result); }));
        return code;
    };
    CHECK(by(pair.listener, [&](auto done) { return pair.listener.start_accept(done); }) == ErrorCode::cancelled);
    CHECK(by(pair.server, [&](auto done) { return pair.server.start_accept_stream(StreamKind::ordered, done); }) ==
          ErrorCode::cancelled);
    CHECK(by(pair.server, [&](auto done) { return pair.server.start_wait_path_event(done); }) == ErrorCode::cancelled);
    CHECK(by(ends.acceptor, [&](auto done) { return ends.acceptor.start_read(out, done); }) == ErrorCode::cancelled);
    REQUIRE(ends.opener.write(out));
    CHECK(ends.acceptor.read(out, 60s));
    pair.client.close();
    CHECK(other.get_future().get() == kFine);
}

TEST_CASE("unordered streams that are given up by either side give the other one its code") {
    auto pair = connected_pair();
    auto given_up = ends_of_stream(pair, StreamKind::unordered);
    given_up.opener.reset(8);
    auto piece = given_up.acceptor.read_piece(60s);
    while (piece && *piece) piece = given_up.acceptor.read_piece(60s);
    REQUIRE_FALSE(piece);
    CHECK(piece.error().code == ErrorCode::interrupted);
    CHECK(piece.error().application_code == 8U);
    CHECK(what(given_up.opener.finish()) == ErrorCode::interrupted);
    auto unwanted = ends_of_stream(pair, StreamKind::unordered);
    unwanted.acceptor.stop_receiving(9);
    CHECK(other_than(ErrorCode::interrupted, of_read_piece(unwanted.acceptor)).empty());
    auto written = unwanted.opener.write(bytes_of(1, 1));
    for (int i = 0; i < 6000 && written; ++i) {
        std::this_thread::sleep_for(10ms);
        written = unwanted.opener.write(bytes_of(1, 1));
    }
    CHECK(written.error().application_code == 9U);
    CHECK(what(unwanted.opener.finish()) == ErrorCode::interrupted);
}

TEST_CASE("a reader that waits hears of a reset, a writer that waits of a reader who wants no more") {
    TransportConfig config;
    config.stream_window = 1U << 20U;
    config.send_buffer = 1U << 20U;
    auto pair = connected_pair(config);
    auto [opener, acceptor] = ends_of_stream(pair);
    std::vector<std::byte> out(10);
    REQUIRE(acceptor.read(out));
    auto read = std::async(std::launch::async, [&, stream = acceptor]() mutable { return stream.read(out, 60s); });
    std::this_thread::sleep_for(50ms);
    opener.reset(6);
    CHECK(read.get().error().application_code == 6U);
    const auto bytes = bytes_of(2, 16U << 20U);
    auto written =
        std::async(std::launch::async, [&, stream = acceptor]() mutable { return stream.write(bytes, 60s); });
    std::this_thread::sleep_for(50ms);
    opener.stop_receiving(7);
    CHECK(written.get().error().application_code == 7U);
}

TEST_CASE("the largest code and the longest reason of a close are cut, not refused") {
    auto pair = connected_pair();
    pair.client.close(UINT64_MAX, std::string(10'000, 'x'));
    REQUIRE_FALSE(pair.server.wait_closed(60s));
    const auto reason = pair.server.close_reason();
    REQUIRE(reason);
    CHECK(reason->wire_code == (std::uint64_t{1} << 62U) - 1);
    CHECK(reason->message == std::string(256, 'x'));
}

TEST_CASE("a listener says what keeps it from listening, and that it was closed") {
    auto listener = Listener::bind("127.0.0.1:0", psk(1));
    REQUIRE(listener);
    const std::string taken = "127.0.0.1:" + std::to_string(listener->local_address().port);
    const auto second = Listener::bind(taken, psk(1));
    CHECK(what(second) == ErrorCode::network);
    CHECK(second.error().system_error == EADDRINUSE);
    const auto elsewhere = Listener::bind("192.0.2.1:0", psk(1));
    CHECK(what(elsewhere) == ErrorCode::network);
    CHECK(elsewhere.error().system_error == EADDRNOTAVAIL);
    CHECK(what(Listener::bind("host.invalid:0", psk(1))) == ErrorCode::network);
    auto waiting = std::async(std::launch::async, [&] { return listener->accept(kForever); });
    std::this_thread::sleep_for(50ms);
    listener->close();
    CHECK(what(waiting.get()) == ErrorCode::interrupted);
    CHECK(what(listener->accept(60s)) == ErrorCode::interrupted);
    CHECK(told<Session>([&](auto done) { return listener->start_accept(done); }) == ErrorCode::interrupted);
}

TEST_CASE("who comes too late is told so, and the last path stays") {
    auto listener = Listener::bind("127.0.0.1:0", psk(1), {}, 1);
    REQUIRE(listener);
    const std::uint16_t port = listener->local_address().port;
    auto first = Session::connect("127.0.0.1", port, psk(1));
    REQUIRE(first);
    const auto accepted = listener->accept(60s);  // until then the second one may come first
    REQUIRE(accepted);
    auto late = Session::connect("127.0.0.1", port, psk(1));
    CHECK(what(late ? late->wait_closed(60s) : Result<void>(late.error())) == ErrorCode::no_resources);
    CHECK(what(first->remove_path(PathId{0})) == ErrorCode::refused);
}

TEST_CASE("a session has no more paths than it is configured for, and one at least") {
    auto listener = Listener::bind("127.0.0.1:0", psk(1));
    REQUIRE(listener);
    const std::vector<PathRequest> paths(TransportConfig{}.max_paths + 1, PathRequest{.local = "127.0.0.1"});
    const auto session = Session::connect("127.0.0.1", listener->local_address().port, psk(1), {}, paths);
    CHECK(what(session) == ErrorCode::invalid_argument);
    const auto begun = Session::start_connect("127.0.0.1", listener->local_address().port, psk(1),
                                              ConnectOptions{.paths = paths}, [](const Result<Session>&) {});
    CHECK(what(begun) == ErrorCode::invalid_argument);
}

TEST_CASE("port 0 cannot be connected to") {
    const auto session = Session::connect("127.0.0.1", 0, psk(1));
    REQUIRE(what(session) == ErrorCode::invalid_argument);
    CHECK(session.error().message.find("port 0") == 0);
    CHECK(what(Session::start_connect("127.0.0.1", 0, psk(1), {}, [](const Result<Session>&) {})) ==
          ErrorCode::invalid_argument);
}

TEST_CASE("an error that quotes the peer is one line") {
    auto pair = connected_pair();
    pair.client.close(5, "one\ntwo\x1b[2J");
    const auto closed = pair.server.wait_closed(60s);
    REQUIRE_FALSE(closed);
    CHECK(closed.error().message == "the peer says: one\\x0atwo\\x1b[2J");
}
