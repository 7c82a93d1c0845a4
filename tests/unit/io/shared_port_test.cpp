#include "io/listening.hpp"

#include <sys/socket.h>
#ifdef __linux__
#include <linux/filter.h>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "io/socket_setup.hpp"
#include "io/udp_socket.hpp"
#include "test/catch.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/system.hpp"

using namespace std::chrono_literals;
using namespace udtx;

namespace {

constexpr std::size_t kShares = 3;

Address loopback(std::uint16_t port = 0) {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {127, 0, 0, 1};
    address.port = port;
    return address;
}

std::vector<std::byte> short_datagram(std::uint32_t id) {
    std::vector<std::byte> bytes(40);
    bytes[0] = std::byte{0x40};
    for (std::size_t i = 0; i < 4; ++i) bytes[1 + i] = static_cast<std::byte>(id >> (24 - 8 * i));
    return bytes;
}

std::vector<std::byte> long_datagram(std::uint64_t id) {
    std::vector<std::byte> bytes(1200);
    bytes[0] = std::byte{0x80};
    for (std::size_t i = 0; i < 8; ++i) bytes[5 + i] = static_cast<std::byte>(id >> (56 - 8 * i));
    return bytes;
}

Result<std::vector<std::shared_ptr<io::ProtocolThread>>> open_port(const std::string& listen, std::size_t threads,
                                                                   UniqueFd socket = {}) {
    static const auto credentials = Credentials::from_psk(std::array<std::byte, 32>{std::byte{7}});
    static const TransportConfig config;
    return io::open_shared({.credentials = credentials,
                            .config = config,
                            .options = {},
                            .threads = threads,
                            .listen = listen,
                            .socket = std::move(socket)});
}

/// Reads and discards what arrives, and counts it by the connection's share.
class Reader final : public proto::ConnectionHandler {
  public:
    struct Counts {
        std::mutex mutex;
        std::map<std::uint64_t, std::size_t> bytes;  // by share
    };
    explicit Reader(Counts& counts) : counts_(counts) {}
    void on_event(Instant, proto::Connection& connection, const proto::Event& event) override {
        const auto* readable = std::get_if<proto::event::Readable>(&event);
        if (readable == nullptr) return;
        for (auto got = connection.read_chunk(readable->id); !got.chunk.empty();
             got = connection.read_chunk(readable->id)) {
            const std::lock_guard lock(counts_.mutex);
            counts_.bytes[connection.local_id().value % kShares] += got.chunk.size();
        }
    }
    void on_wake(Instant, proto::Connection&) override {}
    void on_piece(StreamId, std::uint64_t, std::span<const std::byte>) override {}

  private:
    Counts& counts_;
};

/// Sends so many bytes, and reports when all are delivered.
class Writer final : public proto::ConnectionHandler {
  public:
    Writer(std::size_t bytes, std::atomic<std::size_t>& delivered) : bytes_(bytes), delivered_(delivered) {}
    void on_event(Instant, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Connected>(event)) {
            const auto stream = connection.open_stream(StreamKind::ordered);
            (void)connection.write(*stream, Chunk(std::shared_ptr<std::byte[]>(new std::byte[bytes_]()), bytes_));
            (void)connection.finish(*stream);
        }
        if (std::holds_alternative<proto::event::StreamDelivered>(event)) ++delivered_;
    }
    void on_wake(Instant, proto::Connection&) override {}
    void on_piece(StreamId, std::uint64_t, std::span<const std::byte>) override {}

  private:
    std::size_t bytes_;
    std::atomic<std::size_t>& delivered_;
};

/// Sends over all connections of one client socket; returns how many finished within a minute.
std::size_t deliver(std::uint16_t port, std::size_t connections, std::size_t bytes) {
    const auto credentials = Credentials::from_psk(std::array<std::byte, 32>{std::byte{7}});
    auto client = io::ProtocolThread::make(credentials, TransportConfig{});
    REQUIRE(client);
    REQUIRE((*client)->driver().open(loopback()));
    std::atomic<std::size_t> delivered{0};
    for (std::size_t i = 0; i < connections; ++i) {
        (*client)->driver().connect(loopback(port), std::make_shared<Writer>(bytes, delivered));
    }
    (*client)->start();
    for (int i = 0; i < 6000 && delivered < connections; ++i) std::this_thread::sleep_for(10ms);
    (*client)->stop(300ms);
    return delivered;
}

}  // namespace

TEST_CASE("a datagram's thread is that of its destination id") {
    CHECK(io::thread_of(short_datagram(0x01020304), 7) == 0x01020304 % 7);
    CHECK(io::thread_of(short_datagram(0xfffffffe), 16) == 14);
    CHECK(io::thread_of(long_datagram(0xaabbccdd01020304), 7) == 0x01020304 % 7);
    CHECK(io::thread_of({}, 7) == 0);
    auto cut = short_datagram(5);
    cut.resize(4);
    CHECK(io::thread_of(cut, 7) == 0);
    cut = long_datagram(5);
    cut.resize(12);
    CHECK(io::thread_of(cut, 7) == 0);
}

TEST_CASE("the kernel brings datagrams to the socket of their thread, whoever sends them") {
    auto first = io::open_socket(loopback(), {});
    REQUIRE(first);
    if (!io::share_port((*first)->native_handle())) {
        WARN("skipped: this system's sockets share no port");
        return;
    }
    std::vector<std::unique_ptr<io::DatagramSocket>> sockets;
    sockets.push_back(std::move(*first));
    while (sockets.size() < kShares) {
        auto next = io::open_socket(sockets.front()->local_address(), {.join = true});
        REQUIRE(next);
        sockets.push_back(std::move(*next));
    }
    REQUIRE(io::steer_datagrams(sockets.back()->native_handle(), kShares));
    for (int client = 0; client < 4; ++client) {
        auto from = io::open_socket(loopback(), {});
        REQUIRE(from);
        for (std::uint64_t id = 0; id < 12; ++id) {
            for (const auto& bytes :
                 {short_datagram(static_cast<std::uint32_t>(0x80000000 + id)), long_datagram(id << 40U | id)}) {
                proto::Transmit transmit;
                transmit.remote = sockets.front()->local_address();
                transmit.size = transmit.segment = bytes.size();
                REQUIRE((*from)->send(transmit, bytes).status == io::SendResult::Status::sent);
                auto& expected = *sockets[io::thread_of(bytes, kShares)];
                std::span<proto::RxDatagram> got;
                for (int i = 0; i < 200 && (got = expected.receive()).empty(); ++i) std::this_thread::sleep_for(1ms);
                REQUIRE(got.size() == 1);
                CHECK(std::equal(bytes.begin(), bytes.end(), got[0].data.begin(), got[0].data.end()));
            }
        }
    }
}

TEST_CASE("a port that another program shares among its threads is taken") {
    const auto here = open_port("127.0.0.1:0", kShares);
    REQUIRE(here);
    const auto address = here->front()->driver().local_address();
    REQUIRE(address);
    for (const std::size_t threads : {1U, 3U}) {
        const auto there = open_port(to_string(*address), threads);
        REQUIRE_FALSE(there);
        CHECK(there.error().message.find("another program uses this UDP port") != std::string::npos);
    }
}

TEST_CASE("connections of one client socket all reach their threads, steered by the kernel or not") {
    for (const bool steered : {true, false}) {
        auto server = open_port("127.0.0.1:0", kShares);
        REQUIRE(server);
        if (server->size() < kShares) {
            WARN("skipped: this system's sockets share no port");
            return;
        }
        Reader::Counts counts;
        for (const auto& thread : *server) {
            thread->driver().listen(100, [&](proto::Connection&) { return std::make_shared<Reader>(counts); });
        }
#ifdef __linux__
        if (!steered) {  // the kernel gives every packet to the first socket
            sock_filter always{BPF_RET | BPF_K, 0, 0, 0};
            const sock_fprog program{1, &always};
            REQUIRE(::setsockopt(server->front()->driver().native_handle(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
                                 &program, sizeof program) == 0);
        }
#endif
        for (const auto& thread : *server) thread->start();
        constexpr std::size_t kConnections = 24;
        constexpr std::size_t kBytes = 300'000;
        INFO("steered " << steered);
        CHECK(deliver((*(*server->front()).driver().local_address()).port, kConnections, kBytes) == kConnections);
        for (const auto& thread : *server) thread->stop(300ms);
        std::size_t all = 0;
        for (const auto& [share, bytes] : counts.bytes) all += bytes;
        CHECK(all == kConnections * kBytes);
        CHECK(counts.bytes.size() == kShares);
    }
}

TEST_CASE("a socket that was bound before is shared by several threads, and one thread takes it as it is") {
    for (const std::size_t threads : {std::size_t{1}, kShares}) {
        auto bound = bind_udp(loopback());
        REQUIRE(bound);
        auto server = open_port({}, threads, std::move(bound->fd));
        REQUIRE(server);
        const auto address = server->front()->driver().local_address();
        REQUIRE(address);
        CHECK(address->port == bound->local.port);
#ifdef __linux__
        REQUIRE(server->size() == threads);
#endif
        Reader::Counts counts;
        for (const auto& thread : *server) {
            thread->driver().listen(100, [&](proto::Connection&) { return std::make_shared<Reader>(counts); });
            thread->start();
        }
        CHECK(deliver(address->port, 12, 10'000) == 12);
        for (const auto& thread : *server) thread->stop(300ms);
    }
}
