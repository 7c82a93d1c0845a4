// A link in user space: forwards datagrams between clients and a server on loopback, and impairs them.
//
//   udp_relay SERVER_PORT [loss=P] [corrupt=P] [duplicate=P] [rebind=SECONDS] [only-hello] [from=N] [log] [forge=N]
//             [forge-after=N] [seed=N]
//
// Prints "port N" first. The server sees a separate address for each client. loss, corrupt and duplicate are
// probabilities, in both directions. With `rebind`, the clients change to another port and then to another address
// every SECONDS; prints "rebound" each time. With `only-hello`, passes only first flights from the clients. With
// `forge`, sends N forged packets to each of the first client's two ends as soon as forge-after (100) of its packets
// have passed. They come from the other end's address and have the connection's id; four in five are otherwise random.
// Prints "forged N" afterwards.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "peer_program.hpp"
#include "wire/header.hpp"

namespace {

using udtx::test::die;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

struct Options {
    std::uint16_t server = 0;
    double loss = 0.0;
    double corrupt = 0.0;
    double duplicate = 0.0;
    double rebind = 0.0;
    bool only_hello = false;
    bool log = false;
    std::uint32_t from = 0;
    std::uint64_t forge = 0;
    std::uint64_t forge_after = 100;
    std::uint64_t seed = 1;
};

sockaddr_in loopback(std::uint16_t port, std::uint32_t host = INADDR_LOOPBACK) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(host);
    return address;
}

int bound(std::uint32_t host = INADDR_LOOPBACK) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(0, host);
    const int room = 4 << 20;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) die("no socket");
    return fd;
}

void send(int fd, std::span<const std::byte> data, const sockaddr_in& to) {
    // If the socket buffer is full the datagram is lost, as on a link.
    (void)::sendto(fd, data.data(), data.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}

class Relay {
  public:
    explicit Relay(const Options& options) : options_(options), random_(options.seed), front_(bound()) {
        sockaddr_in own{};
        socklen_t size = sizeof(own);
        ::getsockname(front_, reinterpret_cast<sockaddr*>(&own), &size);
        std::printf("port %u\n", ntohs(own.sin_port));
        std::fflush(stdout);
    }

    [[noreturn]] void run() {
        for (;;) {
            std::vector<pollfd> ends{{front_, POLLIN, 0}};
            for (const auto& [key, client] : clients_) ends.push_back({client.back, POLLIN, 0});
            ::poll(ends.data(), ends.size(), 50);
            for (int some = 0; some < 256 && from_client(); ++some) {
            }
            for (auto& [key, client] : clients_) {
                for (int some = 0; some < 256 && from_server(client); ++some) {
                }
            }
            rebind_if_due();
        }
    }

  private:
    struct Client {
        sockaddr_in address{};
        int back = -1;  ///< the socket whose address the server sees for this client
        Bytes last_up;
        Bytes last_down;
    };

    bool chance(double p) { return p > 0.0 && std::uniform_real_distribution<>(0.0, 1.0)(random_) < p; }

    void pass(int fd, std::span<std::byte> data, const sockaddr_in& to) {
        if (chance(options_.loss)) return;
        if (chance(options_.corrupt) && !data.empty()) data[random_() % data.size()] ^= std::byte{0x24};
        for (int copies = chance(options_.duplicate) ? 2 : 1; copies > 0; --copies) send(fd, data, to);
    }

    void log(const char* way, std::span<const std::byte> data) const {
        if (!options_.log) return;
        std::printf("%s ", way);
        for (const std::byte byte : data) std::printf("%02x", std::to_integer<unsigned>(byte));
        std::puts("");
        std::fflush(stdout);
    }

    bool from_client() {
        sockaddr_in from{};
        socklen_t size = sizeof(from);
        const auto got = ::recvfrom(front_, room_.data(), room_.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
        if (got < 0) return false;
        const std::span data(room_.data(), static_cast<std::size_t>(got));
        auto [entry, is_new] = clients_.try_emplace({from.sin_addr.s_addr, from.sin_port});
        Client& client = entry->second;
        if (is_new) client = {from, bound(INADDR_LOOPBACK + options_.from), {}, {}};
        client.last_up.assign(data.begin(), data.end());
        log("up", data);
        const auto header = udtx::wire::parse_long_header(data);
        if (options_.only_hello && (!header || header->type != udtx::wire::LongType::hello)) return true;
        pass(client.back, data, loopback(options_.server));
        if (options_.forge > 0 && ++passed_ == options_.forge_after) forge(client);
        return true;
    }

    bool from_server(Client& client) {
        const auto got = ::recv(client.back, room_.data(), room_.size(), 0);
        if (got < 0) return false;
        const std::span data(room_.data(), static_cast<std::size_t>(got));
        client.last_down.assign(data.begin(), data.end());
        log("down", data);
        pass(front_, data, client.address);
        return true;
    }

    /// Between forged packets, passes what the ends send, so that the connection continues.
    void forge(Client& client) {
        const Bytes up = client.last_up;
        const Bytes down = client.last_down;
        for (std::uint64_t i = 0; i < options_.forge; ++i) {
            send(client.back, forged(up, i), loopback(options_.server));
            send(front_, forged(down, i), client.address);
            if (i % 16 != 0) continue;
            for (int some = 0; some < 64 && from_client(); ++some) {
            }
            for (int some = 0; some < 64 && from_server(client); ++some) {
            }
        }
        std::printf("forged %llu\n", static_cast<unsigned long long>(2 * options_.forge));
        std::fflush(stdout);
    }

    std::span<const std::byte> forged(const Bytes& seen, std::uint64_t turn) {
        forged_ = seen;
        // One in five is a recorded packet with one bit changed. The others keep the first bytes of the header and have
        // a random length.
        const std::size_t kept = turn % 5 == 0 ? seen.size() : std::min<std::size_t>(9, seen.size());
        if (turn % 5 != 0) forged_.resize(kept + random_() % 1200);
        for (std::size_t at = kept; at < forged_.size(); at += 8) {
            const std::uint64_t word = random_();
            std::memcpy(forged_.data() + at, &word, std::min<std::size_t>(8, forged_.size() - at));
        }
        if (turn % 5 == 0 && forged_.size() > 9) forged_[9 + random_() % (forged_.size() - 9)] ^= std::byte{1};
        return forged_;
    }

    void rebind_if_due() {
        if (options_.rebind <= 0.0 || clients_.empty() || Clock::now() < next_rebind_) return;
        next_rebind_ =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.rebind));
        if (++rebound_ == 1) return;  // the period starts with the first client
        for (auto& [key, client] : clients_) {
            ::close(client.back);
            client.back = bound(INADDR_LOOPBACK + (rebound_ % 2 == 0 ? 0 : rebound_));
        }
        std::puts("rebound");
        std::fflush(stdout);
    }

    Options options_;
    std::mt19937_64 random_;
    int front_;
    std::map<std::pair<std::uint32_t, std::uint16_t>, Client> clients_;
    std::array<std::byte, 65536> room_{};
    Bytes forged_;
    std::uint64_t passed_ = 0;
    std::uint32_t rebound_ = 0;
    Clock::time_point next_rebind_{};
};

Options parse(int argc, char** argv) {
    if (argc < 2) die("usage: udp_relay SERVER_PORT [name=value...]");
    Options options;
    options.server = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string name = word.substr(0, word.find('='));
        const double value = name == word ? 0.0 : std::strtod(word.c_str() + name.size() + 1, nullptr);
        if (name == "loss")
            options.loss = value;
        else if (name == "corrupt")
            options.corrupt = value;
        else if (name == "duplicate")
            options.duplicate = value;
        else if (name == "rebind")
            options.rebind = value;
        else if (name == "only-hello")
            options.only_hello = true;
        else if (name == "from")
            options.from = static_cast<std::uint32_t>(value);
        else if (name == "log")
            options.log = true;
        else if (name == "forge")
            options.forge = static_cast<std::uint64_t>(value);
        else if (name == "forge-after")
            options.forge_after = static_cast<std::uint64_t>(value);
        else if (name == "seed")
            options.seed = static_cast<std::uint64_t>(value);
        else
            die("no such word: " + word);
    }
    return options;
}

}  // namespace

int main(int argc, char** argv) { Relay(parse(argc, argv)).run(); }
