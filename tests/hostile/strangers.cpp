// Strangers without a key that hold TCP connections and say nothing, or something else than TLS. They come from COUNT
// connections of each of HOSTS addresses, 127.0.0.2 and those after it.
//
//   strangers PORT HOSTS COUNT    prints "in" when all have connected. When a line arrives on standard input, prints
//                                 how many connections the server has not closed.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "io/addresses.hpp"
#include "peer_program.hpp"
#include "udtx/descriptor.hpp"

namespace {

using namespace udtx;
using test::die;

UniqueFd come_from(const Address& own, const Address& server) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const io::SocketAddress from = io::to_socket_address(own, AF_INET);
    const io::SocketAddress to = io::to_socket_address(server, AF_INET);
    if (::bind(socket.get(), from.get(), from.length) != 0 || ::connect(socket.get(), to.get(), to.length) != 0) {
        die(std::string("a stranger cannot connect: ") + std::strerror(errno));
    }
    return socket;
}

bool is_open(const UniqueFd& socket) {
    pollfd polled{socket.get(), POLLIN | POLLRDHUP, 0};
    return ::poll(&polled, 1, 0) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) die("usage: strangers PORT HOSTS COUNT");
    const Address server = test::loopback(static_cast<std::uint16_t>(std::stoul(argv[1])));
    std::vector<UniqueFd> sockets;
    for (std::size_t host = 0; host < std::stoul(argv[2]); ++host) {
        for (std::size_t i = 0; i < std::stoul(argv[3]); ++i) {
            Address own = test::loopback();
            own.ip[3] = static_cast<std::uint8_t>(2 + host);
            sockets.push_back(come_from(own, server));
            // Half of a TLS record, as far as its head says.
            constexpr std::string_view kHalf("\x16\x03\x01\x02\x00\x01", 6);
            if (i % 2 == 1) (void)::send(sockets.back().get(), kHalf.data(), kHalf.size(), MSG_NOSIGNAL);
        }
    }
    std::puts("in");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        std::size_t open = 0;
        for (const UniqueFd& socket : sockets) open += is_open(socket) ? 1 : 0;
        std::printf("open %zu\n", open);
        std::fflush(stdout);
    }
    return 0;
}
