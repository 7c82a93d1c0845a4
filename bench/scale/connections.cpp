// udtx-scale-connections: many connections between two processes over 127.0.0.1. Each process has one socket.
//
// `udtx-scale-connections listen KEY` prints "port PORT". It ends when its standard input ends.
//
// `udtx-scale-connections connect KEY PORT COUNT BYTES` prints "connected SECONDS" after the last handshake. When it
// reads a line from standard input, it sends BYTES bytes over each connection. It prints "delivered SECONDS" when all
// of them are acknowledged.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "io/protocol_thread.hpp"
#include "proto/application.hpp"
#include "udtx/core/chunk.hpp"

namespace {

using namespace udtx;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxConnections = 20'000;
/// Number of concurrent handshakes. An endpoint allows 64 per host.
constexpr std::size_t kHandshakesAtOnce = 48;
constexpr std::size_t kBlockBytes = 1U << 20U;

[[noreturn]] void die(const std::string& what) {
    std::fprintf(stderr, "udtx-scale-connections: %s\n", what.c_str());
    std::_Exit(1);
}

template <class T>
T need(Result<T> result) {
    if (!result) die(result.error().message);
    return std::move(result).value();
}

Address local_host(std::uint16_t port) {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {127, 0, 0, 1};
    address.port = port;
    return address;
}

std::unique_ptr<io::ProtocolThread> open_transport(const std::string& key) {
    auto transport = need(io::ProtocolThread::make(need(Credentials::from_psk_file(key)), TransportConfig{}));
    if (const auto opened = transport->driver().open(local_host(0)); !opened) die(opened.error().message);
    return transport;
}

/// Reads and discards all bytes.
class Sink final : public proto::ConnectionHandler {
  public:
    void on_event(Instant /*now*/, proto::Connection& connection, const proto::Event& event) override {
        const auto* readable = std::get_if<proto::event::Readable>(&event);
        if (readable == nullptr) return;
        static std::array<std::byte, 65536> scratch;  // there is one protocol thread
        while (connection.read(readable->id, scratch).bytes > 0) {
        }
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}
};

/// One connection of the end that connects. It calls `told` when it is connected, and again when its bytes are
/// delivered.
class Caller final : public proto::ConnectionHandler {
  public:
    explicit Caller(std::function<void()> told) : told_(std::move(told)) {}

    void attach(std::shared_ptr<proto::Connection> connection) { connection_ = std::move(connection); }
    void send(const Chunk& block, std::uint64_t bytes) {
        const StreamId id = need(connection_->open_stream(StreamKind::ordered));
        for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, block.size())) {
            Chunk part = block;
            part.truncate(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block.size())));
            if (const auto written = connection_->write(id, std::move(part)); !written) die(written.error().message);
        }
        if (const auto finished = connection_->finish(id); !finished) die(finished.error().message);
    }

    void on_event(Instant /*now*/, proto::Connection& /*connection*/, const proto::Event& event) override {
        if (const auto* closed = std::get_if<proto::event::Closed>(&event)) die("closed: " + closed->reason.message);
        const bool delivered = std::holds_alternative<proto::event::StreamDelivered>(event);
        if (delivered || std::holds_alternative<proto::event::Connected>(event)) told_();
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    std::function<void()> told_;
    std::shared_ptr<proto::Connection> connection_;
};

/// All connections. run() runs on the caller's thread, everything else on the protocol thread.
class Incast {
  public:
    Incast(io::Driver& driver, std::uint16_t port, std::size_t count) : driver_(driver), port_(port), count_(count) {}

    void run(std::uint64_t bytes) {
        print("connected", stage([this] {
                  for (std::size_t i = 0; i < std::min(kHandshakesAtOnce, count_); ++i) connect_one();
              }));
        if (std::string line; !std::getline(std::cin, line)) return;
        const Chunk zeros(std::shared_ptr<std::byte[]>(new std::byte[kBlockBytes]()), kBlockBytes);
        print("delivered", stage([&] {
                  for (const auto& caller : callers_) caller->send(zeros, bytes);
              }));
    }

  private:
    /// Posts `begin` and waits until each connection has called `told` once. Returns the seconds that this took.
    double stage(const std::function<void()>& begin) {
        over_ = std::promise<void>();
        told_ = 0;
        const auto start = Clock::now();
        driver_.post(begin);
        over_.get_future().wait();
        return std::chrono::duration<double>(Clock::now() - start).count();
    }
    static void print(const char* what, double seconds) {
        std::printf("%s %.6f\n", what, seconds);
        std::fflush(stdout);
    }
    void connect_one() {
        const auto caller = std::make_shared<Caller>([this] { on_told(); });
        callers_.push_back(caller);
        caller->attach(driver_.connect(local_host(port_), caller));
    }
    void on_told() {
        if (callers_.size() < count_) connect_one();
        if (++told_ == count_) over_.set_value();
    }

    io::Driver& driver_;
    std::uint16_t port_;
    std::size_t count_;
    std::size_t told_ = 0;
    std::vector<std::shared_ptr<Caller>> callers_;
    std::promise<void> over_;
};

int listen(const std::string& key) {
    const auto transport = open_transport(key);
    io::Driver& driver = transport->driver();
    driver.listen(kMaxConnections, [](proto::Connection& /*connection*/) { return std::make_shared<Sink>(); });
    transport->start();
    std::printf("port %u\n", unsigned{need(driver.local_address()).port});
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
    }
    transport->stop(Duration::zero());
    return 0;
}

int connect_all(const std::string& key, std::uint16_t port, std::size_t count, std::uint64_t bytes) {
    if (count == 0 || count > kMaxConnections) die("COUNT lies between 1 and " + std::to_string(kMaxConnections));
    const auto transport = open_transport(key);
    Incast incast(transport->driver(), port, count);
    transport->start();
    incast.run(bytes);
    transport->stop(Duration::zero());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == "listen") return listen(words[1]);
    if (words.size() == 5 && words[0] == "connect") {
        return connect_all(words[1], static_cast<std::uint16_t>(std::stoul(words[2])), std::stoul(words[3]),
                           std::stoull(words[4]));
    }
    std::fputs("udtx-scale-connections listen KEY | connect KEY PORT COUNT BYTES\n", stderr);
    return 2;
}
