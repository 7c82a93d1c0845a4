// A program outside the source tree that sends a buffer to itself over an encrypted session on loopback.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include "udtx/credentials.hpp"
#include "udtx/known_paths.hpp"
#include "udtx/session.hpp"

namespace {

using std::chrono::seconds;

std::size_t receive_all(udtx::Listener& listener) {
    auto session = listener.accept(seconds(20));
    if (!session.ok()) return 0;
    auto stream = session->accept_stream(seconds(20));
    if (!stream.ok()) return 0;
    std::vector<std::byte> buffer(64 * 1024);
    std::size_t total = 0;
    for (;;) {
        const auto got = stream->read(buffer);
        if (!got.ok() || *got == 0) break;
        total += *got;
    }
    (void)session->wait_closed(seconds(20));
    return total;
}

}  // namespace

int main() {
    const std::array<std::byte, udtx::Credentials::kPskBytes> key{std::byte{42}};
    const auto credentials = udtx::Credentials::from_psk(key);
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener.ok()) {
        std::fprintf(stderr, "bind: %s\n", listener.error().message.c_str());
        return 1;
    }
    std::size_t received = 0;
    std::thread receiver([&] { received = receive_all(*listener); });

    const std::vector<std::byte> payload(1'000'000, std::byte{7});
    bool delivered = false;
    auto session = udtx::Session::connect("127.0.0.1", listener->local_address().port, credentials);
    if (session.ok()) {
        auto stream = session->open_stream();
        delivered = stream.ok() && stream->write(payload).ok() && stream->finish().ok();
        session->close();
    } else {
        std::fprintf(stderr, "connect: %s\n", session.error().message.c_str());
    }
    receiver.join();
    std::printf("delivered %d, received %zu bytes\n", delivered ? 1 : 0, received);
    // The peer has no key of its own, so nothing is known of the path.
    const bool unknown = udtx::KnownPaths::of_process().entries(udtx::Instant()).empty();
    return delivered && received == payload.size() && unknown ? 0 : 1;
}
