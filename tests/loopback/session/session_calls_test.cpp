// Single calls of sessions and streams: timeouts, cancel, reset, codes, unordered streams, and the peer's identity.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "session_fixture.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

struct StreamPair {
    Stream ours;
    Stream theirs;
};

StreamPair stream_between(Session& from, Session& to, StreamKind kind = StreamKind::ordered) {
    auto ours = from.open_stream(kind);
    REQUIRE(ours);
    REQUIRE(ours->write(bytes_of(1, 1)));
    auto theirs = to.accept_stream(60s, kind);
    REQUIRE(theirs);
    return {std::move(*ours), std::move(*theirs)};
}

/// Runs a call on another thread and returns its future once the call surely waits.
template <class Call>
auto later(Call call) {
    auto result = std::async(std::launch::async, std::move(call));
    std::this_thread::sleep_for(100ms);
    return result;
}

Error error_of(const Result<std::size_t>& result) {
    REQUIRE_FALSE(result);
    return result.error();
}

}  // namespace

TEST_CASE("a read ends with its time-out, and the stream goes on") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    std::vector<std::byte> out(10);
    REQUIRE(*theirs.read(out) == 1);
    CHECK(error_of(theirs.read(out, 30ms)).code == ErrorCode::timeout);
    REQUIRE(ours.write(bytes_of(2, 10)));
    CHECK(theirs.read(out, 60s));
}

TEST_CASE("read_full fills the buffer, however the bytes come, and says where the stream ends before") {
    auto pair = connected_pair();
    auto ours = pair.client.open_stream();
    REQUIRE(ours);
    const auto bytes = bytes_of(6, 3'000'003);
    auto written = std::async(std::launch::async, [&] {
        const bool begun = ours->write(std::span(bytes).first(2)).ok();
        std::this_thread::sleep_for(30ms);
        return begun && ours->write(std::span(bytes).subspan(2)).ok();
    });
    auto theirs = pair.server.accept_stream(60s);
    REQUIRE(theirs);
    std::vector<std::byte> out(1'500'000);
    for (const std::size_t offset : {0U, 1'500'000U}) {
        const auto filled = theirs->read_full(out, 60s);
        REQUIRE(filled);
        CHECK(*filled == out.size());
        CHECK(std::equal(out.begin(), out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
    REQUIRE(written.get());
    CHECK(theirs->read_full(std::span(out).first(0), 0ms).value() == 0);
    CHECK(error_of(theirs->read_full(out, 30ms)).code == ErrorCode::timeout);
    REQUIRE(ours->write(bytes_of(7, 5)));
    REQUIRE(ours->finish());
    CHECK(theirs->read_full(out, 60s).value() == 5);
    CHECK(theirs->read_full(out, 60s).value() == 0);
}

TEST_CASE("a write ends with its time-out where the peer reads nothing, and says how much it took") {
    TransportConfig config;
    config.stream_window = 1U << 20U;
    config.send_buffer = 1U << 20U;
    auto pair = connected_pair(config);
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    const auto bytes = bytes_of(3, 1U << 20U);
    std::size_t taken = 0;
    for (;;) {
        const auto some = ours.write_some(bytes, 500ms);
        if (!some) {
            CHECK(some.error().code == ErrorCode::timeout);
            break;
        }
        CHECK(*some > 0);
        taken += *some;
        REQUIRE(taken < (64U << 20U));
    }
    CHECK(ours.finish(50ms).error().code == ErrorCode::timeout);
    std::size_t got = 0;
    std::vector<std::byte> out(1U << 20U);
    while (const auto count = theirs.read(out)) {
        if (*count == 0) break;
        got += *count;
    }
    CHECK(got == taken + 1);
    CHECK(ours.finish(60s));
}

TEST_CASE("cancel ends the calls that wait, not the session") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    std::vector<std::byte> out(10);
    REQUIRE(*theirs.read(out) == 1);
    SECTION("of a stream") {
        auto read = later([&out, stream = theirs]() mutable { return stream.read(out); });
        theirs.cancel();
        CHECK(error_of(read.get()).code == ErrorCode::cancelled);
    }
    SECTION("of a session: also those of its streams") {
        auto read = later([&out, stream = theirs]() mutable { return stream.read(out); });
        auto accepted = later([&] { return pair.server.accept_stream(kForever); });
        auto closed = later([&] { return pair.server.wait_closed(); });
        pair.server.cancel();
        CHECK(error_of(read.get()).code == ErrorCode::cancelled);
        CHECK(accepted.get().error().code == ErrorCode::cancelled);
        CHECK(closed.get().error().code == ErrorCode::cancelled);
    }
    SECTION("of a listener") {
        auto accepted = later([&] { return pair.listener.accept(kForever); });
        pair.listener.cancel();
        CHECK(accepted.get().error().code == ErrorCode::cancelled);
    }
    REQUIRE(ours.write(bytes_of(4, 5)));
    CHECK(theirs.read(out, 60s));
}

TEST_CASE("a connect that was started is cancelled at once, and never calls back twice") {
    std::promise<Error> told;
    auto connecting = Session::start_connect("192.0.2.1", 7, psk(1), {},
                                             [&](Result<Session> session) { told.set_value(session.error()); });
    REQUIRE(connecting);
    std::this_thread::sleep_for(50ms);
    connecting->cancel();
    auto error = told.get_future();
    REQUIRE(error.wait_for(60s) == std::future_status::ready);
    const ErrorCode code = error.get().code;
    CHECK((code == ErrorCode::cancelled || code == ErrorCode::no_route || code == ErrorCode::network));
    connecting->cancel();
}

TEST_CASE("a stream that is reset gives the reader its code") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    ours.reset(4711);
    std::vector<std::byte> out(10);
    Result<std::size_t> read = theirs.read(out, 60s);
    while (read && *read > 0) read = theirs.read(out, 60s);
    const Error error = error_of(read);
    CHECK(error.code == ErrorCode::interrupted);
    CHECK(error.application_code == 4711U);
    CHECK(error.error_code() == std::error_code(4711, application_category()));
    CHECK(ours.write(out).error().code == ErrorCode::interrupted);
    // The other direction still works.
    REQUIRE(theirs.write(bytes_of(5, 10)));
    CHECK(ours.read(out, 60s));
}

TEST_CASE("a reader who wants no more tells the writer its code") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    theirs.stop_receiving(42);
    std::vector<std::byte> bytes(1000);
    CHECK(error_of(theirs.read(bytes)).code == ErrorCode::interrupted);
    Result<std::size_t> written = ours.write_some(bytes);
    for (int i = 0; i < 6000 && written; ++i) {
        std::this_thread::sleep_for(10ms);
        written = ours.write_some(bytes);
    }
    CHECK(error_of(written).application_code == 42U);
}

TEST_CASE("a session closed with a code says so at both ends") {
    auto pair = connected_pair();
    CHECK_FALSE(pair.client.close_reason());
    pair.client.close(7, "that will do");
    CHECK(pair.client.wait_closed(60s));
    const auto told = pair.server.wait_closed(60s);
    REQUIRE_FALSE(told);
    CHECK(told.error().application_code == 7U);
    CHECK(told.error().message == "the peer says: that will do");
    const auto here = pair.client.close_reason();
    const auto there = pair.server.close_reason();
    REQUIRE(here);
    REQUIRE(there);
    CHECK_FALSE(here->by_peer);
    CHECK(there->by_peer);
    CHECK(there->application);
    CHECK(there->wire_code == 7);
    CHECK(there->message == "that will do");
}

TEST_CASE("an unordered stream hands over every byte once, with its offset") {
    auto pair = connected_pair();
    auto ours = pair.client.open_stream(StreamKind::unordered);
    REQUIRE(ours);
    CHECK(ours->kind() == StreamKind::unordered);
    const auto bytes = bytes_of(6, 20'000'000);
    auto written = std::async(std::launch::async, [&, stream = *ours]() mutable {
        const auto sent = stream.write(bytes);
        return sent ? stream.finish() : sent;
    });
    auto theirs = pair.server.accept_stream(60s, StreamKind::unordered);
    REQUIRE(theirs);
    std::vector<std::byte> got(bytes.size());
    std::size_t total = 0;
    for (;;) {
        const auto piece = theirs->read_piece(60s);
        REQUIRE(piece);
        if (!*piece) break;
        const std::uint64_t offset = (*piece)->offset;
        const auto part = (*piece)->data.bytes();
        REQUIRE(offset + part.size() <= got.size());
        std::copy(part.begin(), part.end(), got.begin() + static_cast<std::ptrdiff_t>(offset));
        total += part.size();
    }
    CHECK(total == bytes.size());
    CHECK(got == bytes);
    CHECK(written.get());
    std::vector<std::byte> out(10);
    CHECK(error_of(theirs->read(out)).code == ErrorCode::invalid_argument);
    CHECK(theirs->write(out).error().code == ErrorCode::invalid_argument);
    CHECK(ours->read_piece().error().code == ErrorCode::invalid_argument);
}

TEST_CASE("with identities each end knows the other's key, with a shared key there is none") {
    const TemporaryDirectory directory;
    const auto identity = [&](const std::string& name) {
        const auto path = directory.path() / name;
        REQUIRE(Credentials::write_identity(path));
        auto made = Credentials::from_identity_file(path);
        REQUIRE(made);
        return *made;
    };
    Credentials server_id = identity("server");
    Credentials client_id = identity("client");
    REQUIRE(server_id.trust(*client_id.public_key()));
    REQUIRE(client_id.trust(*server_id.public_key()));
    auto listener = Listener::bind("127.0.0.1:0", server_id);
    REQUIRE(listener);
    auto client = Session::connect("127.0.0.1", listener->local_address().port, client_id);
    REQUIRE(client);
    auto server = listener->accept(60s);
    REQUIRE(server);
    CHECK(client->peer_key() == server_id.public_key());
    CHECK(server->peer_key() == client_id.public_key());
    auto pair = connected_pair();
    CHECK_FALSE(pair.client.peer_key());
    CHECK_FALSE(pair.server.peer_key());
}

TEST_CASE("a cap set while it runs holds from then on") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    const bool by_peer = GENERATE(false, true);
    const Rate cap = Rate::bits_per_second(8e6);
    REQUIRE((by_peer ? pair.client.set_peer_rate(cap) : pair.client.set_max_rate(cap)));
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(ours.write(bytes_of(7, 1'000'000)));
    auto reader = std::async(std::launch::async, [stream = theirs]() mutable { return read_all(stream).size(); });
    REQUIRE(ours.finish());
    CHECK(std::chrono::steady_clock::now() - start >= 800ms);
    CHECK(reader.get() == 1'000'001);
}

TEST_CASE("a cap has to be above zero") {
    auto pair = connected_pair();
    for (const double bps : {0.0, -1.0, std::nan("")}) {
        const Rate none = Rate::bits_per_second(bps);
        for (const auto& set : {pair.client.set_max_rate(none), pair.client.set_peer_rate(none)}) {
            REQUIRE_FALSE(set);
            CHECK(set.error().code == ErrorCode::invalid_argument);
            CHECK(set.error().message.find("above zero") != std::string::npos);
        }
    }
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    REQUIRE(ours.finish());
}

TEST_CASE("a listener takes a socket that somebody has bound") {
    const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
    REQUIRE(fd >= 0);
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0);
    auto listener = Listener::adopt(UniqueFd(fd), psk(1));
    REQUIRE(listener);
    auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1));
    REQUIRE(client);
    CHECK(listener->accept(60s));
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    CHECK(Listener::adopt(UniqueFd(pipe_ends[0]), psk(1)).error().code == ErrorCode::network);
    CHECK(::fcntl(pipe_ends[0], F_GETFD) == -1);  // adopt() closes it despite the error
    ::close(pipe_ends[1]);
    CHECK(Listener::adopt(UniqueFd(), psk(1)).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a listener does not take a socket that nobody has bound, and says what to do") {
    for (const int family : {AF_INET, AF_INET6}) {
        UniqueFd socket(::socket(family, SOCK_DGRAM, 0));
        if (!socket && family == AF_INET6) continue;
        REQUIRE(socket);
        const auto listener = Listener::adopt(std::move(socket), psk(1));
        REQUIRE_FALSE(listener);
        CHECK(listener.error().code == ErrorCode::invalid_argument);
        CHECK(listener.error().message.find("bind_udp()") != std::string::npos);
    }
}

TEST_CASE("the log tells where a session connected, and whom a listener did not let in") {
    std::mutex mutex;
    std::vector<std::string> lines;
    const LogSink log = [&](LogLevel, const std::string& text) {
        const std::lock_guard lock(mutex);
        lines.push_back(text);
    };
    const auto has = [&](const std::string& part) {
        const std::lock_guard lock(mutex);
        return std::any_of(lines.begin(), lines.end(),
                           [&](const std::string& line) { return line.find(part) != std::string::npos; });
    };
    auto listener = Listener::bind("127.0.0.1:0", psk(1), ListenOptions{.log = log});
    REQUIRE(listener);
    const std::uint16_t port = listener->local_address().port;
    REQUIRE(Session::connect("127.0.0.1", port, psk(1), ConnectOptions{.log = log}));
    CHECK(has("connecting to 127.0.0.1:" + std::to_string(port)));
    CHECK(has("connected to 127.0.0.1:" + std::to_string(port)));
    REQUIRE_FALSE(Session::connect("127.0.0.1", port, psk(2)));
    for (int i = 0; i < 600 && !has("127.0.0.1:"); ++i) std::this_thread::sleep_for(10ms);
    REQUIRE(listener->accept(60s));
    listener->close();
}

TEST_CASE("errors are std::error_codes") {
    const std::error_code late = ErrorCode::timeout;
    CHECK(late.category() == error_category());
    CHECK(late == ErrorCode::timeout);
    CHECK(late == std::errc::timed_out);
    CHECK(make_error_code(ErrorCode::cancelled) == std::errc::operation_canceled);
    CHECK(late != make_error_code(ErrorCode::network));
    CHECK(std::string(late.category().name()) == "udtx");
    CHECK_FALSE(late.message().empty());
    CHECK(Error{ErrorCode::interrupted, "", 0, 0}.error_code() == ErrorCode::interrupted);
}

TEST_CASE("a receiver over several paths may close at the last byte: the sender's finish() succeeds") {
    for (int run = 0; run < 10; ++run) {
        auto listener = Listener::bind(":0", psk(1));
        REQUIRE(listener);
        TransportConfig config;
        config.scheduler = "rr";
        const std::vector<PathRequest> paths{
            {"127.0.0.1", "127.0.0.1"}, {"127.0.0.1", "127.0.0.2"}, {"127.0.0.1", "127.0.0.3"}};
        auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1), config, paths);
        REQUIRE(client);
        auto server = listener->accept(60s);
        REQUIRE(server);
        auto stream = client->open_stream();
        REQUIRE(stream);
        auto receiver = std::async(std::launch::async, [&] {
            auto theirs = server->accept_stream(60s);
            if (!theirs) return std::size_t{0};
            const std::size_t got = read_all(*theirs).size();
            server->close();
            return got;
        });
        REQUIRE(stream->write(bytes_of(8, 3'000'000)));
        const auto finished = stream->finish();
        INFO("run " << run << ": " << (finished ? "" : finished.error().message));
        CHECK(finished);
        CHECK(receiver.get() == 3'000'000);
    }
}

TEST_CASE("chunks pass without a copy, between reads and writes that copy") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    const auto bytes = bytes_of(7, 6'000'000);
    auto written = std::async(std::launch::async, [&, stream = ours]() mutable {
        const auto all = std::span<const std::byte>(bytes);
        const auto shared = std::shared_ptr<std::byte[]>(new std::byte[bytes.size()]);
        std::copy(bytes.begin(), bytes.end(), shared.get());
        const Chunk chunk(shared, bytes.size());
        auto sent = stream.write(all.first(100));
        if (sent) sent = stream.write_chunk(chunk.part(100, 5'000'000));
        if (sent) sent = stream.write_chunk(Chunk());
        if (sent) sent = stream.write(all.subspan(5'000'100));
        return sent ? stream.finish() : sent;
    });
    std::vector<std::byte> got;
    std::vector<std::byte> room(999);
    for (bool copies = true;; copies = !copies) {
        if (copies) {
            const auto count = theirs.read(room, 60s);
            REQUIRE(count);
            if (*count == 0) break;
            got.insert(got.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*count));
        } else {
            const auto chunk = theirs.read_chunk(60s);
            REQUIRE(chunk);
            if (chunk->empty()) break;
            CHECK(chunk->size() <= 64 * 1024);
            got.insert(got.end(), chunk->bytes().begin(), chunk->bytes().end());
        }
    }
    CHECK(written.get());
    got.erase(got.begin());  // the byte of stream_between()
    CHECK(got == bytes);
    CHECK((*theirs.read_chunk(60s)).empty());
    CHECK(theirs.write_chunk(Chunk::copy_of(bytes)));
    const auto back = ours.read_chunk(60s);
    REQUIRE(back);
    const auto part = back->bytes();
    CHECK(std::equal(part.begin(), part.end(), bytes.begin()));
}

TEST_CASE("many small writes keep no more memory than their bytes") {
    auto pair = connected_pair();
    auto [ours, theirs] = stream_between(pair.client, pair.server);
    const auto byte = bytes_of(8, 100);
    // No end reads, so the bytes wait at both ends.
    std::size_t written = 0;
    while (ours.write(byte, 200ms)) written += byte.size();
    CHECK(written > 1'000'000);
    std::vector<std::byte> room(written + 1);
    CHECK(*theirs.read_full(std::span(room).first(written + 1), 60s) == written + 1);
    bool same = true;
    for (std::size_t i = 0; i < written; ++i) same = same && room[1 + i] == byte[i % byte.size()];
    CHECK(same);
}
