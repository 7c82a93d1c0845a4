// udtx-blast: what the machine can do at most, without a protocol.
//
//   udtx-blast recv PORT                           prints "ready"; after the first datagram, until 300 ms of silence,
//                                                  counts bytes: "BYTES SECONDS"
//   udtx-blast send HOST PORT DATAGRAM SECONDS     datagrams of that size, as many in a call as GSO takes
//   udtx-blast aead CIPHER DATAGRAM SECONDS        one thread seals, one opens: bytes/s of each
//
// Both ends share the machine in all of them, as in a transfer.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "crypto/packet_key.hpp"
#include "openssl/provider.hpp"
#include "wire/header.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kBatchBytes = 65'000;
constexpr std::size_t kMaxSegments = 64;  // UDP_MAX_SEGMENTS of older kernels
constexpr int kSocketBytes = 8 << 20;

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::_Exit(1);
}

int make_socket() {
    const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) die("socket");
    for (const int option : {SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_SNDBUF, SO_RCVBUF}) {
        (void)::setsockopt(fd, SOL_SOCKET, option, &kSocketBytes, sizeof kSocketBytes);  // as far as allowed
    }
    return fd;
}

sockaddr_in address(const char* host, const char* port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    if (::inet_pton(AF_INET, host, &to.sin_addr) != 1) die("address");
    return to;
}

template <class T>
const sockaddr* generic(const T& of) {
    return reinterpret_cast<const sockaddr*>(&of);
}

int receive(const char* port) {
    const int fd = make_socket();
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    const sockaddr_in here = address("0.0.0.0", port);
    if (::bind(fd, generic(here), sizeof here) != 0) die("bind");
    std::puts("ready");
    std::fflush(stdout);
    const auto wait_at_most = [fd](timeval limit) {
        if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) die("SO_RCVTIMEO");
    };
    wait_at_most({.tv_sec = 10, .tv_usec = 0});
    std::vector<char> buffer(1U << 16U);
    if (::recv(fd, buffer.data(), buffer.size(), 0) < 0) die("recv");
    wait_at_most({.tv_sec = 0, .tv_usec = 300'000});
    const auto begin = Clock::now();
    auto last = begin;
    std::uint64_t bytes = 0;
    while (true) {
        const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
        if (got < 0) break;
        bytes += static_cast<std::uint64_t>(got);
        last = Clock::now();
    }
    std::printf("%llu %.6f\n", static_cast<unsigned long long>(bytes), Seconds(last - begin).count());
    return 0;
}

int send(const char* host, const char* port, std::size_t datagram, double seconds) {
    const int fd = make_socket();
    const sockaddr_in to = address(host, port);
    if (::connect(fd, generic(to), sizeof to) != 0) die("connect");
    const auto segment = static_cast<int>(datagram);
    if (::setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) die("UDP_SEGMENT");
    const std::size_t batch = datagram * std::clamp<std::size_t>(kBatchBytes / datagram, 1, kMaxSegments);
    const std::vector<char> bytes(batch, 'x');
    const auto end = Clock::now() + Seconds(seconds);
    while (Clock::now() < end) (void)::send(fd, bytes.data(), bytes.size(), 0);  // lost is what does not fit
    return 0;
}

/// Bytes a second of `work(packet number)`, each call one datagram.
template <class Work>
double rate_of(std::size_t datagram, double seconds, Work&& work) {
    const auto begin = Clock::now();
    std::uint64_t packets = 0;
    Seconds past{};
    while (past.count() < seconds) {
        for (int i = 0; i < 64; ++i) work(packets++);
        past = Clock::now() - begin;
    }
    return static_cast<double>(packets * datagram) / past.count();
}

int aead(const std::string& name, std::size_t datagram, double seconds) {
    using namespace udtx;
    const auto cipher = name == "aes" ? crypto::Cipher::aes_256_gcm : crypto::Cipher::chacha20_poly1305;
    openssl::OpensslProvider provider;
    double opened = 0;
    std::thread opener([&] {
        const auto key = crypto::derive_packet_key(provider, cipher, crypto::Secret{});
        const auto nonce = crypto::make_nonce(key.iv, PathId{0}, 0);
        std::vector<std::byte> sealed(datagram);
        key.aead->seal(nonce, sealed, wire::kShortHeaderBytes);
        std::vector<std::byte> packet(datagram);
        opened = rate_of(datagram, seconds, [&](std::uint64_t) {
            std::copy(sealed.begin(), sealed.end(), packet.begin());
            if (!key.aead->open(nonce, packet, wire::kShortHeaderBytes)) std::abort();
        });
    });
    const auto key = crypto::derive_packet_key(provider, cipher, crypto::Secret{});
    std::vector<std::byte> packet(datagram);
    const double sealed = rate_of(datagram, seconds, [&](std::uint64_t number) {
        key.aead->seal(crypto::make_nonce(key.iv, PathId{0}, number), packet, wire::kShortHeaderBytes);
    });
    opener.join();
    std::printf("%.0f %.0f\n", sealed, opened);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string what = words.empty() ? "" : words[0];
    if (what == "recv" && words.size() == 2) return receive(argv[2]);
    if (what == "send" && words.size() == 5) return send(argv[2], argv[3], std::stoul(words[3]), std::stod(words[4]));
    if (what == "aead" && words.size() == 4 && (words[1] == "aes" || words[1] == "chacha")) {
        return aead(words[1], std::stoul(words[2]), std::stod(words[3]));
    }
    std::fputs("udtx-blast recv PORT | send HOST PORT DATAGRAM SECONDS | aead aes|chacha DATAGRAM SECONDS\n", stderr);
    return 2;
}
