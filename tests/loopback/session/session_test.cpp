// Real sockets, real TLS, both ends in one process.
#include <algorithm>
#include <atomic>

#include "session_fixture.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

/// Sends `size` bytes in each direction of one stream at the same time and compares them.
void exchange(Pair& pair, std::size_t size) {
    const auto up = bytes_of(1, size);
    const auto down = bytes_of(2, size);
    auto near = pair.client.open_stream();
    REQUIRE(near);
    Result<void> wrote = Error{};
    Result<void> finished = Error{};
    std::thread writer([&] {
        wrote = near->write(up);
        finished = near->finish();
    });
    auto far = pair.server.accept_stream(60s);
    Result<void> far_wrote = Error{};
    Result<void> far_finished = Error{};
    std::vector<std::byte> came_up;
    std::thread answerer([&] {
        if (!far) return;
        far_wrote = far->write(down);
        far_finished = far->finish();
    });
    std::thread far_reader([&] {
        std::vector<std::byte> part(65536);
        while (far) {
            const auto count = far->read(part);
            if (!count || *count == 0) break;
            came_up.insert(came_up.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*count));
        }
    });
    const auto came_down = read_all(*near);
    writer.join();
    answerer.join();
    far_reader.join();
    CHECK(wrote.ok());
    CHECK(finished.ok());
    CHECK(far_wrote.ok());
    CHECK(far_finished.ok());
    CHECK(came_up == up);
    CHECK(came_down == down);
}

}  // namespace

TEST_CASE("10 MB travel both ways at once") {
    for (const char* host : {"127.0.0.1", "::1"}) {
        if (std::string(host) == "::1" && !has_ipv6()) continue;
        INFO(host);
        Pair pair = connected_pair({}, host);
        exchange(pair, 10'000'000);
        const auto stats = pair.client.stats();
        REQUIRE(stats);
        CHECK(stats->stream_bytes_sent >= 10'000'000);
        CHECK(stats->stream_bytes_received == 10'000'000);
        CHECK_FALSE(stats->cipher.empty());
        REQUIRE(stats->paths.size() == 1);
        CHECK(stats->paths[0].smoothed_rtt > Duration::zero());
    }
}

TEST_CASE("a listener on all addresses serves IPv4 and several sessions") {
    auto listener = Listener::bind(":0", psk(1));
    REQUIRE(listener);
    for (int i = 0; i < 3; ++i) {
        auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1));
        REQUIRE(client);
        auto server = listener->accept(60s);
        REQUIRE(server);
        auto stream = client->open_stream();
        REQUIRE(stream);
        const auto sent = bytes_of(static_cast<std::uint64_t>(i), 1000);
        REQUIRE(stream->write(sent));
        auto far = server->accept_stream(60s);
        REQUIRE(far);
        REQUIRE(stream->finish());
        CHECK(read_all(*far) == sent);
    }
}

TEST_CASE("streams do not mix and may be opened by either side") {
    Pair pair = connected_pair();
    constexpr int kStreams = 20;
    std::vector<Stream> near;
    for (int i = 0; i < kStreams; ++i) {
        auto stream = pair.server.open_stream();
        REQUIRE(stream);
        REQUIRE(stream->write(bytes_of(static_cast<std::uint64_t>(i), 5000)));
        near.push_back(*stream);
    }
    for (Stream& stream : near) REQUIRE(stream.finish());
    for (int i = 0; i < kStreams; ++i) {
        auto far = pair.client.accept_stream(60s);
        REQUIRE(far);
        const auto found = std::find_if(near.begin(), near.end(), [&](const Stream& s) { return s.id() == far->id(); });
        REQUIRE(found != near.end());
        CHECK(read_all(*far) == bytes_of(static_cast<std::uint64_t>(found - near.begin()), 5000));
    }
    CHECK(pair.client.accept_stream(10ms).error().code == ErrorCode::timeout);
}

TEST_CASE("write blocks while the peer does not read") {
    TransportConfig config;
    config.stream_window = 1U << 20U;
    config.connection_window = 2U << 20U;
    config.send_buffer = 1U << 20U;
    Pair pair = connected_pair(config);
    const auto sent = bytes_of(3, 24U << 20U);
    auto near = pair.client.open_stream();
    REQUIRE(near);
    std::atomic<bool> through = false;
    std::thread writer([&] {
        if (near->write(sent)) through = true;
        (void)near->finish();
    });
    auto far = pair.server.accept_stream(60s);
    std::this_thread::sleep_for(200ms);
    const bool blocked = !through;  // the windows and queues of both ends hold less than half of the data
    const auto came = far ? read_all(*far) : std::vector<std::byte>{};
    writer.join();
    CHECK(blocked);
    CHECK(through);
    CHECK(came == sent);
}

TEST_CASE("what a stream brings stays under flow control until somebody accepts it") {
    TransportConfig config;
    config.stream_window = 256U << 10U;
    Pair pair = connected_pair(config);
    const auto sent = bytes_of(3, 3U << 20U);
    auto near = pair.client.open_stream();
    REQUIRE(near);
    std::thread writer([&] {
        (void)near->write(sent);
        (void)near->finish();
    });
    std::uint64_t held = 0;
    for (int i = 0; i < 100 && held < config.stream_window; ++i) {
        std::this_thread::sleep_for(20ms);
        const auto stats = pair.server.stats();
        held = stats ? stats->stream_bytes_received : 0;
    }
    std::this_thread::sleep_for(100ms);  // enough time for the receiver to take more
    const auto stats = pair.server.stats();
    auto far = pair.server.accept_stream(60s);
    const auto came = far ? read_all(*far) : std::vector<std::byte>{};
    writer.join();
    REQUIRE(stats);
    CHECK(stats->stream_bytes_received <= config.stream_window);
    CHECK(came == sent);
}

TEST_CASE("a configuration that makes no sense is refused by both ends") {
    TransportConfig config;
    config.congestion = "nonsense";
    const auto listener = Listener::bind("127.0.0.1:0", psk(1), config);
    REQUIRE_FALSE(listener);
    CHECK(listener.error().code == ErrorCode::invalid_argument);
    const auto session = Session::connect("127.0.0.1", 9, psk(1), config);
    REQUIRE_FALSE(session);
    CHECK(session.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("finish of an empty stream is an end for the reader") {
    Pair pair = connected_pair();
    auto near = pair.client.open_stream();
    REQUIRE(near);
    REQUIRE(near->finish());
    REQUIRE(near->finish());
    CHECK(near->write(bytes_of(1, 1)).error().code == ErrorCode::invalid_argument);
    auto far = pair.server.accept_stream(60s);
    REQUIRE(far);
    std::array<std::byte, 10> room;
    for (int again = 0; again < 2; ++again) {
        const auto count = far->read(room);
        REQUIRE(count);
        CHECK(*count == 0);
    }
}
