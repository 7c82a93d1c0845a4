// Uses two paths in one session and prints the figures of each. `local` may also name interfaces: "eth0", "wwan0".
#include <udtx/session.hpp>

#include <future>
#include <iostream>

using namespace std::chrono_literals;

static std::uint64_t receive(udtx::Listener& listener) {
    auto session = listener.accept(10s);
    auto stream = session ? session->accept_stream(10s) : session.error();
    std::vector<std::byte> part(65536);
    for (std::uint64_t total = 0; stream;) {
        const auto count = stream->read(part, 10s);
        if (!count || *count == 0) return total;
        total += *count;
    }
    return 0;
}

int main() {
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener) return 1;
    auto received = std::async(std::launch::async, receive, std::ref(*listener));
    udtx::TransportConfig config;
    config.scheduler = "rr";  // round robin: each path in turn
    const std::vector<udtx::PathRequest> paths{{.local = "127.0.0.1"}, {.local = "127.0.0.2"}};
    auto session = udtx::Session::connect("127.0.0.1", listener->local_address().port, credentials, config, paths);
    if (!session || !session->wait_path_event(10s)) return 1;  // waits for the second path
    auto stream = session->open_stream();
    if (!stream || !stream->write(std::vector<std::byte>(8'000'000), 10s) || !stream->finish(10s)) return 1;
    const auto stats = session->stats();
    if (!stats || stats->paths.size() != 2) return 1;
    for (const auto& path : stats->paths)
        std::cout << to_string(path.local) << ": " << to_string(path.state) << ", delivered " << path.delivered_bytes
                  << " bytes, RTT " << udtx::to_seconds(path.smoothed_rtt) * 1e3 << " ms\n";
    return received.get() == 8'000'000 && stats->paths[1].delivered_bytes > 0 ? 0 : 1;
}
