// half_open PSK PORT COUNT: clients that connect all at once through a relay that passes only their first flights. They
// run until they are killed. When all clients have started, prints their number.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "io/protocol_thread.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"

namespace {

using namespace udtx;
using test::need;

class Client final : public proto::ConnectionHandler {
  public:
    void on_event(Instant /*now*/, proto::Connection& /*connection*/, const proto::Event& /*event*/) override {}
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) test::die("usage: half_open PSK PORT COUNT");
    TransportConfig config;
    config.handshake_timeout = std::chrono::seconds(60);
    const auto transport = need(io::ProtocolThread::make(need(Credentials::from_psk_file(argv[1])), config));
    need(transport->driver().open(test::loopback()));
    const Address server = test::loopback(static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10)));
    const std::size_t count = std::strtoul(argv[3], nullptr, 10);
    transport->driver().post([&] {
        for (std::size_t i = 0; i < count; ++i) {
            static_cast<void>(transport->driver().connect(server, std::make_shared<Client>()));
        }
        std::printf("started %zu\n", count);
        std::fflush(stdout);
    });
    transport->start();
    for (;;) ::pause();
}
