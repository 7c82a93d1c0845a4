// The pieces of code in docs/using/library.md, run one after the other.
#include <udtx/session.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>

using namespace std::chrono_literals;

#define CHECK(what) \
    if (!(what)) std::cerr << "main.cpp:" << __LINE__ << ": " #what "\n", std::exit(1)

void explain(const udtx::Error& error) {
    const std::error_code code = error.error_code();
    if (code == std::errc::timed_out) {
        std::cerr << "again later: ";
    } else if (code.category() == udtx::application_category()) {
        std::cerr << "the other program gave up with code " << code.value() << ": ";
    }
    std::cerr << error.message << '\n';
}

static udtx::Credentials identity_of_client() {
    auto own = udtx::Credentials::from_identity_file("client");
    CHECK(own && own->trust_file("server.pub"));
    return *own;
}

static udtx::Result<udtx::Listener> listening() {
    auto own = udtx::Credentials::from_identity_file("server");
    if (!own) return own.error();
    if (const auto trusts = own->trust_file("client.pub"); !trusts) return trusts.error();
    udtx::ListenOptions options;
    options.config.idle_timeout = 10s;
    options.max_connections = 8;
    options.log = [](udtx::LogLevel level, const std::string& text) {
        if (level == udtx::LogLevel::warning) std::cerr << text << '\n';
    };
    return udtx::Listener::bind("127.0.0.1:0", *own, options);
}

static void calls_that_wait(udtx::Stream& ours, udtx::Stream& theirs) {
    std::vector<std::byte> part(100);
    auto count = theirs.read(part, 50ms);
    if (!count && count.error().code == udtx::ErrorCode::timeout) count = 0;  // no data yet: read again later
    CHECK(count && *count == 0);

    std::promise<udtx::Result<std::size_t>> promise;
    theirs.start_read(part, [&promise](udtx::Result<std::size_t> result) { promise.set_value(std::move(result)); });
    CHECK(ours.write(part, 10s));
    const auto result = promise.get_future().get();
    CHECK(result && *result > 0);

    auto waiting = std::async(std::launch::async, [&] {
        auto read = theirs.read(part, 10s);
        while (read) read = theirs.read(part, 10s);
        return read.error().code;
    });
    while (waiting.wait_for(20ms) != std::future_status::ready) theirs.cancel();
    CHECK(waiting.get() == udtx::ErrorCode::cancelled);

    ours.reset(4711);
    auto end = theirs.read(part, 10s);
    while (end) end = theirs.read(part, 10s);
    CHECK(end.error().application_code == 4711);
    explain(end.error());
}

static void unordered(udtx::Session& session, udtx::Session& peer) {
    auto ours = session.open_stream(udtx::StreamKind::unordered);
    CHECK(ours && ours->write(std::vector<std::byte>(1'000'000, std::byte{7}), 10s));
    auto finished = std::async(std::launch::async, [&] { return ours->finish(10s).ok(); });
    auto stream = peer.accept_stream(10s, udtx::StreamKind::unordered);
    CHECK(stream);
    std::vector<std::byte> place(1'000'000);
    auto piece = stream->read_piece(10s);
    for (; piece && *piece; piece = stream->read_piece(10s))
        std::ranges::copy((*piece)->data.bytes(), place.data() + (*piece)->offset);
    const bool complete = piece.ok();  // if not, piece.error() says why
    CHECK(complete && finished.get());
    CHECK(std::count(place.begin(), place.end(), std::byte{7}) == 1'000'000);
}

static bool another_path(udtx::Session& session) {
    auto added = session.add_path({.local = "127.0.0.2"});  // or the name of an interface, such as "wwan0"
    if (!added) return false;
    auto event = session.wait_path_event(10s);
    while (event && event->state != udtx::PathState::active) event = session.wait_path_event(10s);
    if (const auto stats = session.stats())
        for (const auto& path : stats->paths)
            std::cout << to_string(path.local) << ": " << to_string(path.state) << ", sent " << path.sent_bytes
                      << " bytes, line " << path.congestion.mtr.bps() / 1e6 << " Mbit/s\n";
    return event && session.remove_path(*added);
}

int main() {
    char directory[] = "/tmp/udtx-guide-XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    std::filesystem::current_path(directory);
    CHECK(udtx::Credentials::write_identity("client") && udtx::Credentials::write_identity("server"));
    auto listener = listening();
    CHECK(listener);
    const auto credentials = identity_of_client();
    std::filesystem::remove_all(directory);

    udtx::ConnectOptions options;
    options.config.max_rate = udtx::Rate::bits_per_second(500e6);
    auto session = udtx::Session::connect("127.0.0.1", listener->local_address().port, credentials, options);
    CHECK(session);
    auto peer = listener->accept(10s);
    CHECK(peer);
    if (const auto key = peer->peer_key()) std::cout << "welcome, " << key->to_string() << '\n';
    CHECK(peer->peer_key() == credentials.public_key());

    auto ours = session->open_stream();
    CHECK(ours);
    std::vector<std::byte> byte(1);
    CHECK(ours->write(byte, 10s));
    auto theirs = peer->accept_stream(10s);
    CHECK(theirs && theirs->read(byte, 10s));
    calls_that_wait(*ours, *theirs);
    unordered(*session, *peer);
    CHECK(another_path(*session));
    CHECK(session->set_max_rate(udtx::Rate::infinite()));

    session->close(7, "enough for today");
    const auto closed = peer->wait_closed(10s);
    if (!closed) explain(closed.error());
    CHECK(!closed && peer->close_reason()->wire_code == 7);
}
