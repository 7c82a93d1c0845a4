// udt4-copy: a minimal file copier on UDT 4.11, as a peer in the WAN benchmark.
//
// `udt4-copy recv PORT FILE` prints "ready", receives one file and ends.
//
// `udt4-copy send HOST PORT FILE` ends when the receiver has confirmed the whole file.
#include <fcntl.h>
#include <netdb.h>
#include <sys/stat.h>
#include <udt/udt.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kBufferBytes = 256 << 20;  // more than 500 Mbit/s x 200 ms x 9, so that windows do not limit UDT
constexpr int kFlightPackets = 200'000;
constexpr int kSocketBytes = 4 << 20;
constexpr std::size_t kChunk = 1 << 20;
constexpr char kConfirmed = 'k';

[[noreturn]] void die(const std::string& what) {
    std::fprintf(stderr, "udt4-copy: %s: %s\n", what.c_str(), UDT::getlasterror().getErrorMessage());
    std::_Exit(1);
}

void set(UDTSOCKET socket, UDT::SOCKOPT option, int value) {
    if (UDT::setsockopt(socket, 0, option, &value, sizeof value) == UDT::ERROR) die("option");
}

UDTSOCKET make_socket() {
    const UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);
    if (socket == UDT::INVALID_SOCK) die("socket");
    set(socket, UDT_FC, kFlightPackets);
    set(socket, UDT_SNDBUF, kBufferBytes);
    set(socket, UDT_RCVBUF, kBufferBytes);
    set(socket, UDP_SNDBUF, kSocketBytes);
    set(socket, UDP_RCVBUF, kSocketBytes);
    return socket;
}

void send_all(UDTSOCKET socket, const char* data, std::size_t size) {
    while (size > 0) {
        const int sent = UDT::send(socket, data, static_cast<int>(size), 0);
        if (sent == UDT::ERROR) die("send");
        data += sent;
        size -= static_cast<std::size_t>(sent);
    }
}

void recv_all(UDTSOCKET socket, char* data, std::size_t size) {
    while (size > 0) {
        const int got = UDT::recv(socket, data, static_cast<int>(size), 0);
        if (got == UDT::ERROR) die("recv");
        data += got;
        size -= static_cast<std::size_t>(got);
    }
}

int receive_file(const char* port, const char* name) {
    const UDTSOCKET listener = make_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
    if (UDT::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == UDT::ERROR) die("bind");
    if (UDT::listen(listener, 1) == UDT::ERROR) die("listen");
    std::puts("ready");
    std::fflush(stdout);
    const UDTSOCKET socket = UDT::accept(listener, nullptr, nullptr);
    if (socket == UDT::INVALID_SOCK) die("accept");
    const int file = ::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) die(std::string("cannot write ") + name);
    std::uint64_t left = 0;
    recv_all(socket, reinterpret_cast<char*>(&left), sizeof left);
    std::vector<char> chunk(kChunk);
    while (left > 0) {
        const std::size_t wanted = left < kChunk ? static_cast<std::size_t>(left) : kChunk;
        const int got = UDT::recv(socket, chunk.data(), static_cast<int>(wanted), 0);
        if (got == UDT::ERROR) die("recv");
        if (::write(file, chunk.data(), static_cast<std::size_t>(got)) != got) die("write");
        left -= static_cast<std::uint64_t>(got);
    }
    ::close(file);
    send_all(socket, &kConfirmed, 1);
    UDT::close(socket);
    return 0;
}

int send_file(const char* host, const char* port, const char* name) {
    const int file = ::open(name, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0) die(std::string("cannot read ") + name);
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host, port, &hints, &found) != 0) die(std::string("unknown host ") + host);
    const UDTSOCKET socket = make_socket();
    if (UDT::connect(socket, found->ai_addr, static_cast<int>(found->ai_addrlen)) == UDT::ERROR) die("connect");
    ::freeaddrinfo(found);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    send_all(socket, reinterpret_cast<const char*>(&size), sizeof size);
    std::vector<char> chunk(kChunk);
    for (ssize_t got = 0; (got = ::read(file, chunk.data(), chunk.size())) > 0;) {
        send_all(socket, chunk.data(), static_cast<std::size_t>(got));
    }
    char confirmed = 0;
    recv_all(socket, &confirmed, 1);
    ::close(file);
    UDT::close(socket);
    return confirmed == kConfirmed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    UDT::startup();
    int status = 2;
    if (argc == 4 && std::strcmp(argv[1], "recv") == 0) status = receive_file(argv[2], argv[3]);
    if (argc == 5 && std::strcmp(argv[1], "send") == 0) status = send_file(argv[2], argv[3], argv[4]);
    if (status == 2) std::fputs("usage: udt4-copy recv PORT FILE | udt4-copy send HOST PORT FILE\n", stderr);
    UDT::cleanup();
    return status;
}
