// udtx-bench-packets LOSS: one connection in virtual time. Sending, receiving and acknowledging run in separate
// functions, so that callgrind counts the instructions of each per packet (bench/micro/counts.py). Prints the numbers
// of data packets and ACK packets.
//
// The cipher is left out: its instructions depend on the processor, and aead_bench measures it. The run has fixed seeds
// and uses no clock and no sockets. Counts of two runs differ by far less than 1 %, only because memory addresses
// differ.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "openssl/provider.hpp"
#include "sim/apps.hpp"
#include "sim/crypto_kit.hpp"
#include "sim/network.hpp"
#include "sim/prng.hpp"
#include "udtx/core/endpoint.hpp"

// The functions that callgrind counts. `noinline` keeps them out of their callers, and the asm statement prevents a
// tail call of `work`.
#define UDTX_MEASURED(name)                                                     \
    extern "C" [[gnu::noinline]] void name(const std::function<void()>& work) { \
        work();                                                                 \
        asm volatile("" ::: "memory");                                          \
    }
UDTX_MEASURED(udtx_measured_send)
UDTX_MEASURED(udtx_measured_receive)
UDTX_MEASURED(udtx_measured_ack_send)
UDTX_MEASURED(udtx_measured_ack_receive)
#undef UDTX_MEASURED

namespace udtx::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kWarmUpPackets = 20'000;
constexpr std::uint64_t kMeasuredPackets = 40'000;
constexpr std::uint32_t kDatagram = 1472;
constexpr std::size_t kSegments = 44;  // datagrams in a batch
constexpr Duration kOneWay = 5ms;
constexpr std::size_t kSmallestData = 1000;

using Measured = void (*)(const std::function<void()>&);

void not_measured(const std::function<void()>& work) { work(); }

class NoAead final : public crypto::Aead {
  public:
    void seal(const crypto::Nonce& /*nonce*/, std::span<std::byte> packet, std::size_t /*header*/) override {
        std::fill_n(packet.end() - crypto::kTagBytes, crypto::kTagBytes, std::byte{});
    }
    bool open(const crypto::Nonce& /*nonce*/, std::span<std::byte> packet, std::size_t header) override {
        return packet.size() >= header + crypto::kTagBytes;
    }
};

class NoCipher final : public crypto::Provider {
  public:
    std::unique_ptr<crypto::Aead> make_aead(crypto::Cipher /*cipher*/, std::span<const std::byte> /*key*/) override {
        return std::make_unique<NoAead>();
    }
    crypto::Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key) override {
        return openssl_.hkdf_extract(salt, key);
    }
    void hkdf_expand(const crypto::Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) override {
        openssl_.hkdf_expand(prk, info, out);
    }
    crypto::Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) override {
        return openssl_.hmac_sha256(key, data);
    }

  private:
    openssl::OpensslProvider openssl_;
};

/// Releases each byte at the next tick.
class Drain final : public sim::App {
  public:
    void on_piece(StreamId id, std::uint64_t /*offset*/, std::span<const std::byte> bytes) override {
        stream_ = id;
        held_ += bytes.size();
    }
    void on_tick(Instant /*now*/, proto::Connection& connection) override {
        if (held_ > 0) connection.release_pieces(stream_, std::exchange(held_, 0));
    }

  private:
    StreamId stream_;
    std::uint64_t held_ = 0;
};

struct Batch {
    proto::Transmit how;
    std::vector<std::byte> bytes;
    std::vector<Instant> stamps;  // arrival of each datagram; the batch arrives with the last one
};

/// One end, and the direction of the link that leads to it.
struct End {
    End(crypto::Provider& provider, crypto::HandshakeFactory& handshakes, std::uint64_t seed,
        const TransportConfig& config, std::shared_ptr<sim::App> its_app)
        : rng(seed),
          endpoint({.provider = &provider, .handshakes = &handshakes, .rng = &rng}, config),
          app(std::move(its_app)) {}

    sim::SimRng rng;
    proto::Endpoint endpoint;
    std::shared_ptr<sim::App> app;
    std::shared_ptr<proto::Connection> connection{};
    std::deque<Batch> coming{};
    Instant line_busy{};
    Measured in = not_measured;
    Measured out = not_measured;
    std::uint64_t data_sent = 0;
    std::uint64_t other_sent = 0;
};

class Run {
  public:
    explicit Run(double loss)
        : loss_(loss),
          client_(provider_, kit_.handshakes(), 1, config(),
                  std::make_shared<sim::Sender>(sim::Sender::Options{.bytes = 1ULL << 40U})),
          server_(provider_, kit_.handshakes(), 2, config(), std::make_shared<Drain>()) {
        server_.endpoint.listen(1);
        client_.connection = client_.endpoint.connect(now_, sim::make_address(2, 1));
        client_.connection->set_piece_sink(client_.app.get());
    }

    /// Runs until the client has sent `packets` more data packets.
    void go(std::uint64_t packets) {
        const std::uint64_t goal = client_.data_sent + packets;
        while (client_.data_sent < goal) {
            for (End* end : {&client_, &server_}) turn(*end);
            now_ = std::max(now_, next());
        }
    }

    void measure(std::uint64_t packets) {
        client_.out = udtx_measured_send;
        client_.in = udtx_measured_ack_receive;
        server_.in = udtx_measured_receive;
        server_.out = udtx_measured_ack_send;
        const std::uint64_t data = client_.data_sent;
        const std::uint64_t acks = server_.other_sent;
        go(packets);
        std::printf("{\"data_packets\": %llu, \"ack_packets\": %llu}\n",
                    static_cast<unsigned long long>(client_.data_sent - data),
                    static_cast<unsigned long long>(server_.other_sent - acks));
    }

  private:
    static TransportConfig config() {
        TransportConfig config;
        config.max_datagram = kDatagram;
        config.max_rate = Rate::bits_per_second(1e9);
        return config;
    }

    void turn(End& end) {
        while (!end.coming.empty() && end.coming.front().stamps.back() <= now_) {
            Batch batch = std::move(end.coming.front());
            end.coming.pop_front();
            end.in([&] { receive(end, batch); });
        }
        end.out([&] {
            const auto due = end.endpoint.poll_timeout();
            if (due && *due <= now_) {
                end.endpoint.handle_timeout(now_);
                hear(end);
            }
        });
        std::optional<proto::Transmit> sent;
        do {
            end.out([&] { sent = end.endpoint.poll_transmit(now_, kSegments, buffer_); });
            if (sent) carry(end, *sent);
        } while (sent);
    }

    void receive(End& end, Batch& batch) {
        const std::size_t step = batch.how.segment;
        for (std::size_t at = 0, i = 0; at < batch.bytes.size(); at += step, ++i) {
            const auto data = std::span(batch.bytes).subspan(at, std::min(step, batch.bytes.size() - at));
            end.endpoint.handle_datagram(now_, {.local = address(end),
                                                .remote = address(other(end)),
                                                .data = data,
                                                .received = batch.stamps[i],
                                                .coalesced = batch.stamps.size() > 1});
        }
        hear(end);
    }

    /// Hands events, ticks and new connections to the application, as a turn of the driver does.
    void hear(End& end) {
        while (const auto connection = end.endpoint.poll_touched()) {
            while (const auto event = connection->poll_event()) {
                if (std::holds_alternative<proto::event::Closed>(*event)) std::abort();
                end.app->on_event(now_, *connection, *event);
            }
            end.app->on_tick(now_, *connection);
        }
        while (const auto connection = end.endpoint.accept()) {
            end.connection = connection;
            connection->set_piece_sink(end.app.get());
        }
    }

    void carry(End& from, const proto::Transmit& sent) {
        End& to = other(from);
        Batch batch{.how = sent, .bytes = {}, .stamps = {}};
        for (std::size_t at = 0; at < sent.size; at += sent.segment) {
            const std::size_t size = std::min(sent.segment, sent.size - at);
            const bool data = size >= kSmallestData;
            ++(data ? from.data_sent : from.other_sent);
            to.line_busy = std::max(to.line_busy, now_) + line_.time_for(size);
            if (data && lots_.chance(loss_)) continue;
            batch.bytes.insert(batch.bytes.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(at),
                               buffer_.begin() + static_cast<std::ptrdiff_t>(at + size));
            batch.stamps.push_back(to.line_busy + kOneWay);
        }
        if (!batch.stamps.empty()) to.coming.push_back(std::move(batch));
    }

    [[nodiscard]] Instant next() const {
        Instant at = Instant::max();
        for (const End* end : {&client_, &server_}) {
            if (!end->coming.empty()) at = std::min(at, end->coming.front().stamps.back());
            at = std::min(at, end->endpoint.poll_timeout().value_or(Instant::max()));
        }
        return at;
    }

    [[nodiscard]] End& other(const End& end) { return &end == &client_ ? server_ : client_; }
    [[nodiscard]] Address address(const End& end) const { return sim::make_address(&end == &client_ ? 1 : 2, 1); }

    double loss_;
    Instant now_{1h};
    Rate line_ = Rate::bits_per_second(10e9);
    sim::Prng lots_{3};
    sim::CryptoKit kit_;
    NoCipher provider_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(std::size_t{kSegments} * kDatagram);
    End client_;
    End server_;
};

}  // namespace
}  // namespace udtx::bench

int main(int argc, char** argv) {
    udtx::bench::Run run(argc > 1 ? std::strtod(argv[1], nullptr) : 0.0);
    run.go(udtx::bench::kWarmUpPackets);
    run.measure(udtx::bench::kMeasuredPackets);
}
