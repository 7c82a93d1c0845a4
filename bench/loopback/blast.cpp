// udtx-blast: measures the machine's limits without a protocol.
//
// `udtx-blast recv PORT` prints "ready". It counts the bytes after the first datagram until 300 ms of silence. It
// prints "BYTES SECONDS".
//
// `udtx-blast send HOST PORT DATAGRAM SECONDS` sends datagrams of that size, as many per call as GSO takes. It prints
// "BYTES".
//
// `udtx-blast aead CIPHER DATAGRAM SECONDS` seals on one thread and opens on another. It prints the bytes per second of
// both, then the CPU seconds per GB of both.
//
// `udtx-blast read FILE` reads and hashes the file (XXH3). It prints "BYTES CPU_SECONDS".
//
// `udtx-blast write FILE SIZE` hashes and writes a new file. It prints "BYTES CPU_SECONDS".
//
// In the first three, both ends share the machine, as in a transfer on one machine.
#include <arpa/inet.h>
#include <fcntl.h>
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
#include <ctime>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/chunk.hpp"
#include "crypto/packet_protection.hpp"
#include "openssl/provider.hpp"
#include "transfer/checksum.hpp"
#include "udtx/descriptor.hpp"
#include "wire/header.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kBatchBytes = 65'000;
constexpr std::size_t kMaxSegments = 64;  // UDP_MAX_SEGMENTS in older kernels
constexpr int kSocketBytes = 8 << 20;
constexpr std::size_t kPiece = 1U << 20U;
constexpr std::size_t kPieces = 8;  // buffers that are used in turn

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
    std::uint64_t sent = 0;
    while (Clock::now() < end) {
        const ssize_t n = ::send(fd, bytes.data(), bytes.size(), 0);  // the receiver's buffer drops what does not fit
        if (n > 0) sent += static_cast<std::uint64_t>(n);
    }
    std::printf("%llu\n", static_cast<unsigned long long>(sent));
    return 0;
}

/// CPU seconds that this thread has used.
double thread_seconds() {
    timespec now{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Rate {
    double bytes_per_second;
    double cpu_seconds_per_gb;
};

/// Measures `work(packet number)`, which handles one datagram per call.
template <class Work>
Rate rate_of(std::size_t datagram, double seconds, Work&& work) {
    const auto begin = Clock::now();
    const double cpu = thread_seconds();
    std::uint64_t packets = 0;
    Seconds past{};
    while (past.count() < seconds) {
        for (int i = 0; i < 64; ++i) work(packets++);
        past = Clock::now() - begin;
    }
    const auto bytes = static_cast<double>(packets * datagram);
    return {bytes / past.count(), 1e9 * (thread_seconds() - cpu) / bytes};
}

int aead(const std::string& name, std::size_t datagram, double seconds) {
    using namespace udtx;
    const auto cipher = name == "aes" ? crypto::Cipher::aes_256_gcm : crypto::Cipher::chacha20_poly1305;
    openssl::OpensslProvider provider;
    Rate opened{};
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
    const Rate sealed = rate_of(datagram, seconds, [&](std::uint64_t number) {
        key.aead->seal(crypto::make_nonce(key.iv, PathId{0}, number), packet, wire::kShortHeaderBytes);
    });
    opener.join();
    std::printf("%.0f %.0f %.4f %.4f\n", sealed.bytes_per_second, opened.bytes_per_second, sealed.cpu_seconds_per_gb,
                opened.cpu_seconds_per_gb);
    return 0;
}

/// Calls `piece(buffer, offset)` until it returns 0. It reads or writes at the offset, hashes, and returns the number
/// of bytes.
template <class Piece>
int in_pieces(Piece&& piece) {
    const auto memory = udtx::make_page_block(kPieces * kPiece);
    std::memset(memory.get(), 1, kPieces * kPiece);
    const double begin = thread_seconds();
    std::uint64_t bytes = 0;
    for (std::size_t i = 0;; ++i) {
        const std::size_t done = piece(std::span(memory.get() + i % kPieces * kPiece, kPiece), bytes);
        if (done == 0) break;
        bytes += done;
    }
    std::printf("%llu %.6f\n", static_cast<unsigned long long>(bytes), thread_seconds() - begin);
    return 0;
}

void hash(udtx::transfer::Hasher& hasher, std::span<const std::byte> bytes) {
    hasher.reset();
    hasher.update(bytes);
    (void)hasher.finish();
}

int read_file(const char* path) {
    const udtx::UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    if (!fd) die(path);
    udtx::transfer::Hasher hasher(udtx::transfer::HashAlgorithm::xxh3_128);
    return in_pieces([&](std::span<std::byte> buffer, std::uint64_t offset) {
        const ssize_t n = ::pread(fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
        if (n < 0) die("pread");
        hash(hasher, buffer.first(static_cast<std::size_t>(n)));
        return static_cast<std::size_t>(n);
    });
}

int write_file(const char* path, std::uint64_t size) {
    const udtx::UniqueFd fd(::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) die(path);
    udtx::transfer::Hasher hasher(udtx::transfer::HashAlgorithm::xxh3_128);
    return in_pieces([&](std::span<std::byte> buffer, std::uint64_t offset) {
        const auto part = buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - offset)));
        hash(hasher, part);
        const ssize_t n = ::pwrite(fd.get(), part.data(), part.size(), static_cast<off_t>(offset));
        if (n < 0) die("pwrite");
        return static_cast<std::size_t>(n);
    });
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
    if (what == "read" && words.size() == 2) return read_file(argv[2]);
    if (what == "write" && words.size() == 3) return write_file(argv[2], std::stoull(words[2]));
    std::fputs(
        "udtx-blast recv PORT | send HOST PORT DATAGRAM SECONDS | aead aes|chacha DATAGRAM SECONDS | read FILE | "
        "write FILE SIZE\n",
        stderr);
    return 2;
}
