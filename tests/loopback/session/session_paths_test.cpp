// Several paths of one session, over the loopback addresses of this host.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "session_fixture.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

struct PathPair {
    Listener listener;
    Session client;
    Session server;
};

/// Listens on all addresses of this host, including IPv6 if it exists.
PathPair connected_over(const std::vector<PathRequest>& paths, const TransportConfig& server_config = {}) {
    TransportConfig config;
    config.scheduler = "rr";  // every path carries some data
    auto listener = Listener::bind(":0", psk(1), server_config);
    REQUIRE(listener);
    auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1), config, paths);
    INFO((client ? "" : client.error().message));
    REQUIRE(client);
    auto server = listener->accept(60s);
    REQUIRE(server);
    return {std::move(*listener), std::move(*client), std::move(*server)};
}

/// Waits for this event and skips the events before it. On a busy machine a path may time out and return in between.
std::optional<PathEvent> wait_for(Session& session, PathId id, PathState state) {
    for (int i = 0; i < 1000; ++i) {
        const auto event = session.wait_path_event(60s);
        if (!event) return std::nullopt;
        if (event->id == id && event->state == state) return *event;
    }
    return std::nullopt;
}

PathStats path_of(const Session& session, PathId id) {
    const auto stats = session.stats();
    REQUIRE(stats);
    const auto found = std::ranges::find_if(stats->paths, [id](const PathStats& path) { return path.id == id; });
    REQUIRE(found != stats->paths.end());
    return *found;
}

/// Retries while the other paths are silent, as removal is refused then. A busy machine that delays the peer causes
/// that.
Result<void> remove_when_possible(Session& session, PathId id) {
    Result<void> removed = session.remove_path(id);
    for (int i = 0; i < 600 && !removed && removed.error().code == ErrorCode::refused; ++i) {
        std::this_thread::sleep_for(100ms);
        removed = session.remove_path(id);
    }
    return removed;
}

std::string host_of(const Address& address) {
    const std::string text = to_string(address);
    return text.substr(0, text.rfind(':'));
}

}  // namespace

TEST_CASE("a session has several paths from the start, drops one and gets another, and is told of each") {
    std::vector<PathRequest> wanted{{.local = "127.0.0.1"}, {.local = "127.0.0.2"}};
    if (has_ipv6()) wanted.push_back({.local = "::1", .remote = "::1"});
    PathPair pair = connected_over(wanted);
    auto near = pair.client.open_stream();
    REQUIRE(near);
    const auto first = bytes_of(1, 5'000'000);
    REQUIRE(near->write(first));
    auto far = pair.server.accept_stream(60s);
    REQUIRE(far);
    std::vector<std::byte> came;
    std::thread reader([&] { came = read_all(*far); });

    bool as_told = true;
    for (std::size_t i = 1; i < wanted.size(); ++i) {
        const PathId id{static_cast<std::uint8_t>(i)};
        const auto event = wait_for(pair.client, id, PathState::active);
        as_told = as_told && event && !event->unreachable && wait_for(pair.server, id, PathState::active);
        if (event && i == 2) as_told = as_told && host_of(event->remote) == "[::1]";
    }
    const auto removed = remove_when_possible(pair.client, PathId{1});
    const bool gone = wait_for(pair.client, PathId{1}, PathState::closed).has_value() &&
                      wait_for(pair.server, PathId{1}, PathState::closed).has_value();
    const auto added = pair.client.add_path({.local = "127.0.0.3", .weight = 2.0});
    const bool come = added && wait_for(pair.client, *added, PathState::active).has_value();
    const auto second = bytes_of(2, 5'000'000);
    const auto wrote = near->write(second);
    const auto finished = near->finish();
    reader.join();

    CHECK(as_told);
    CHECK(removed.ok());
    CHECK(gone);
    REQUIRE(added);
    CHECK(added->value == wanted.size());
    CHECK(come);
    CHECK(wrote.ok());
    CHECK(finished.ok());
    REQUIRE(came.size() == 10'000'000);
    CHECK(std::ranges::equal(std::span(came).first(5'000'000), first));
    CHECK(std::ranges::equal(std::span(came).subspan(5'000'000), second));
    CHECK(path_of(pair.client, PathId{0}).delivered_bytes > 0);
    CHECK(path_of(pair.client, PathId{1}).state == PathState::closed);
    CHECK(path_of(pair.client, *added).delivered_bytes > 0);
    CHECK(host_of(path_of(pair.client, *added).local) == "127.0.0.3");
}

TEST_CASE("what cannot be done with paths is said") {
    TransportConfig two;
    two.max_paths = 2;
    PathPair pair = connected_over({{.local = "127.0.0.1"}, {.local = "127.0.0.2"}, {.local = "127.0.0.3"}}, two);
    const auto stats = pair.client.stats();
    REQUIRE(stats);
    CHECK(stats->paths.size() == 2);  // the peer has no room for the third path
    const auto code_of = [](const auto& result) {
        REQUIRE_FALSE(result);
        return result.error().code;
    };
    CHECK(code_of(pair.client.add_path({.local = "127.0.0.4"})) == ErrorCode::refused);
    CHECK(code_of(pair.client.add_path({.local = "nosuch0"})) == ErrorCode::invalid_argument);
    CHECK(code_of(pair.client.add_path({.local = "127.0.0.4", .weight = 0.0})) == ErrorCode::invalid_argument);
    CHECK(code_of(pair.client.add_path({.local = "::1", .remote = "::1"})) == ErrorCode::invalid_argument);
    CHECK(code_of(pair.server.add_path({.local = "127.0.0.1"})) == ErrorCode::invalid_argument);
    CHECK(code_of(pair.client.remove_path(PathId{7})) == ErrorCode::invalid_argument);
    REQUIRE(wait_for(pair.client, PathId{1}, PathState::active));
    pair.server.close();
    CHECK_FALSE(wait_for(pair.client, PathId{1}, PathState::closed).has_value());  // the path ends with the session

    const std::uint16_t port = pair.listener.local_address().port;
    CHECK(code_of(Session::connect("127.0.0.1", port, psk(1), {}, {})) == ErrorCode::invalid_argument);
    const auto nowhere = Session::connect("127.0.0.1", port, psk(1), {}, {{.local = "192.0.2.77"}});
    CHECK(code_of(nowhere) == ErrorCode::invalid_argument);
    CHECK(nowhere.error().message.find("192.0.2.77") != std::string::npos);
}

TEST_CASE("of paths that are all standby the first carries the stream") {
    const PathPair pair =
        connected_over({{.local = "127.0.0.1", .standby = true}, {.local = "127.0.0.2", .standby = true}});
    const auto stats = pair.client.stats();
    REQUIRE(stats);
    CHECK(std::ranges::count_if(stats->paths, [](const PathStats& path) { return !path.standby; }) == 1);
}

TEST_CASE("the log of a listener tells which paths of its sessions come and go") {
    std::mutex mutex;
    std::vector<std::string> lines;
    const LogSink log = [&](LogLevel, const std::string& text) {
        const std::lock_guard lock(mutex);
        lines.push_back(text);
    };
    auto listener = Listener::bind(":0", psk(1), ListenOptions{.log = log});
    REQUIRE(listener);
    auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1), {},
                                   {{.local = "127.0.0.1"}, {.local = "127.0.0.2"}});
    REQUIRE(client);
    auto server = listener->accept(60s);
    REQUIRE(server);
    const std::string whose = to_string(server->remote()) + ": ";
    REQUIRE(wait_for(*server, PathId{1}, PathState::active));
    const std::lock_guard lock(mutex);
    CHECK(std::ranges::any_of(lines, [&](const std::string& line) {
        return line.starts_with(whose + "path 1 from ") && line.ends_with(": active");
    }));
}

TEST_CASE("nobody listening at any of several addresses is a network error, too") {
    const char* kind = std::getenv("UDTX_IO");
    if (kind != nullptr && std::string(kind) == "portable") return;  // this kind of socket gets no ICMP errors
    std::uint16_t port = 0;
    {
        const auto free = Listener::bind("127.0.0.1:0", psk(1));
        REQUIRE(free);
        port = free->local_address().port;
    }
    TransportConfig config;
    config.handshake_timeout = 300s;
    const auto nobody = Session::connect("127.0.0.1", port, psk(1), config,
                                         {{.local = "127.0.0.1"}, {.local = "127.0.0.2", .remote = "127.0.0.5"}});
    REQUIRE_FALSE(nobody);
    INFO(nobody.error().message);
    CHECK(nobody.error().code == ErrorCode::network);
}

TEST_CASE("a session that was connected over one path can have more") {
    auto listener = Listener::bind(":0", psk(1));
    REQUIRE(listener);
    auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1));
    REQUIRE(client);
    auto server = listener->accept(60s);
    REQUIRE(server);
    CHECK(client->wait_path_event(10ms).error().code == ErrorCode::timeout);
    const auto id = client->add_path({.local = "127.0.0.2"});
    REQUIRE(id);
    CHECK(wait_for(*client, *id, PathState::active).has_value());
    REQUIRE(remove_when_possible(*client, PathId{0}));
    auto near = client->open_stream();
    REQUIRE(near);
    REQUIRE(near->write(bytes_of(1, 100'000)));
    REQUIRE(near->finish());
    CHECK(path_of(*client, *id).delivered_bytes >= 100'000);
}
