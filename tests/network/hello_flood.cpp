// Sends first flights from source addresses with no host behind them, at a steady rate.
//
//   hello_flood PORT PACKETS PER_SECOND <HEX     reads one first flight in hexadecimal digits; sends copies with other
//                                                ids from 127.x.y.z, where nobody reads the answers; prints how many
//                                                packets it sent and the rate
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "peer_program.hpp"

namespace {

using udtx::test::die;
using Clock = std::chrono::steady_clock;

std::vector<unsigned char> first_flight() {
    std::string digits;
    std::cin >> digits;
    std::vector<unsigned char> bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes.push_back(static_cast<unsigned char>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
    if (bytes.size() < 1200) die("no first flight");
    return bytes;
}

class Flood {
  public:
    Flood(std::uint16_t port, std::vector<unsigned char> packet)
        : socket_(::socket(AF_INET, SOCK_DGRAM, 0)), packet_(std::move(packet)) {
        // Answers arrive at this port of this host's loopback addresses; nobody reads them.
        sockaddr_in any{};
        any.sin_family = AF_INET;
        if (socket_ < 0 || ::bind(socket_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0) die("no socket");
        to_.sin_family = AF_INET;
        to_.sin_port = htons(port);
        to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }

    void send_one() {
        std::array<char, CMSG_SPACE(sizeof(in_pktinfo))> control{};
        iovec data{packet_.data(), packet_.size()};
        msghdr message{};
        message.msg_name = &to_;
        message.msg_namelen = sizeof(to_);
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = IPPROTO_IP;
        header->cmsg_type = IP_PKTINFO;
        header->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
        in_pktinfo source{};
        source.ipi_spec_dst.s_addr = htonl(0x7f010000U + static_cast<std::uint32_t>(random_() % 0x00fd0000U));
        std::memcpy(CMSG_DATA(header), &source, sizeof(source));
        // Bytes 5 to 12 are the id that the client chooses.
        const std::uint64_t id = random_();
        std::memcpy(packet_.data() + 5, &id, sizeof(id));
        if (::sendmsg(socket_, &message, 0) < 0) ++refused_;
    }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    int socket_;
    std::vector<unsigned char> packet_;
    sockaddr_in to_{};
    std::mt19937_64 random_{1};
    std::uint64_t refused_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) die("usage: hello_flood PORT PACKETS PER_SECOND");
    const std::uint64_t packets = std::strtoull(argv[2], nullptr, 10);
    const double pace = std::strtod(argv[3], nullptr);
    Flood flood(static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10)), first_flight());
    const auto begun = Clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
    for (std::uint64_t sent = 0; sent < packets;) {
        const auto due = std::min(packets, static_cast<std::uint64_t>(passed() * pace));
        for (; sent < due; ++sent) flood.send_one();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::printf("%llu %.0f\n", static_cast<unsigned long long>(packets - flood.refused()),
                static_cast<double>(packets) / passed());
    return 0;
}
