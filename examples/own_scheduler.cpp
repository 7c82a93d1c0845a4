// A custom path scheduler: it sends everything over the newest usable path.
#include <udtx/session.hpp>

#include <iostream>

using namespace std::chrono_literals;

class Newest final : public udtx::PathScheduler {
  public:
    std::optional<udtx::PathPick> pick(udtx::Instant, const udtx::StreamDemand& demand,
                                       std::span<const udtx::PathView> paths) override {
        const udtx::PathView* newest = nullptr;
        for (const auto& path : paths)
            if (path.usable && (newest == nullptr || path.id > newest->id)) newest = &path;
        if (newest == nullptr || !newest->may_send) return std::nullopt;  // wait
        return udtx::PathPick{.path = newest->id, .from = demand.next};
    }
};

int main() {
    udtx::TransportConfig config;
    config.scheduler_factory = [] { return std::make_unique<Newest>(); };
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener) return 1;
    const std::vector<udtx::PathRequest> paths{{.local = "127.0.0.1"}, {.local = "127.0.0.2"}};
    auto session = udtx::Session::connect("127.0.0.1", listener->local_address().port, credentials, config, paths);
    if (!session || !session->wait_path_event(10s)) return 1;  // waits for the second path
    auto stream = session->open_stream();
    // The other end's transport can buffer all these bytes, so that no reader is needed here.
    if (!stream || !stream->write(std::vector<std::byte>(8'000'000), 10s) || !stream->finish(10s)) return 1;
    const auto stats = session->stats();
    if (!stats || stats->paths.size() != 2) return 1;
    std::cout << stats->paths[0].delivered_bytes << " and " << stats->paths[1].delivered_bytes << " bytes\n";
    return stats->paths[1].delivered_bytes > 10 * stats->paths[0].delivered_bytes ? 0 : 1;
}
