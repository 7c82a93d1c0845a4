// Datagrams that anyone may send to a listening port: arbitrary bytes from arbitrary addresses. A handshake that never
// completes replaces the real one, so everything happens before authentication. The packet protection is real.
//
// Input: records of [kind, source, length low, length high, bytes...]. The kinds are: raw bytes; a HELLO around the
// bytes, properly sealed, with the last cookie that this source received, a damaged cookie or no cookie; passing time.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "crypto/packet_protection.hpp"
#include "fuzz/require.hpp"
#include "openssl/provider.hpp"
#include "sim/prng.hpp"
#include "udtx/core/endpoint.hpp"
#include "wire/header.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {4, "all state expires in time, and answers have at most the bytes that arrived"}};

namespace {

using namespace udtx;
using fuzz::require;

constexpr std::size_t kMaxConnections = 3;
constexpr std::size_t kSources = 4;

/// A handshake that stays incomplete. A first byte of 0xff makes it refuse; 0xfe makes it answer with 2,000 bytes.
class DeafHandshake final : public crypto::Handshake {
  public:
    Result<void> provide(std::span<const std::byte> bytes) override {
        if (!bytes.empty() && bytes[0] == std::byte{0xff}) return Error{ErrorCode::authentication, "refused"};
        if (!bytes.empty() && bytes[0] == std::byte{0xfe}) pending_.assign(2000, std::byte{1});
        return {};
    }
    std::vector<std::byte> take_output() override { return std::move(pending_); }
    [[nodiscard]] bool complete() const override { return false; }
    Result<crypto::Secret> export_secret(std::string_view) override {
        return Error{ErrorCode::internal, "not complete"};
    }
    [[nodiscard]] std::span<const std::byte> peer_parameters() const override { return {}; }

  private:
    std::vector<std::byte> pending_;
};

class DeafFactory final : public crypto::HandshakeFactory {
  public:
    std::unique_ptr<crypto::Handshake> make_client(std::vector<std::byte>) override {
        return std::make_unique<DeafHandshake>();
    }
    std::unique_ptr<crypto::Handshake> make_server(SelectParameters) override {
        return std::make_unique<DeafHandshake>();
    }
};

class Target {
  public:
    Target()
        : endpoint_({.provider = &provider(), .handshakes = &factory_, .rng = &rng_, .reset_key = crypto::Secret{}},
                    TransportConfig{}) {
        endpoint_.listen(kMaxConnections);
    }

    void raw(std::size_t source, std::span<const std::byte> bytes) {
        deliver(source, std::vector<std::byte>(bytes.begin(), bytes.end()));
    }

    /// bytes[0]: the low bits choose the connection ids. 0x10: use another source's cookie. 0x20: send a HANDSHAKE
    /// packet. 0x40: damage the cookie. 0x80: send no cookie. The other bytes are the payload.
    void hello(std::size_t source, std::span<const std::byte> bytes) {
        if (bytes.empty()) return;
        const auto choice = static_cast<std::uint8_t>(bytes[0]);
        const std::size_t owner = (choice & 0x10U) != 0 ? (source + 1) % kSources : source;
        std::vector<std::byte> token = (choice & 0x80U) != 0 ? std::vector<std::byte>() : cookies_[owner];
        if ((choice & 0x40U) != 0 && !token.empty()) token.back() ^= std::byte{1};
        if ((choice & 0xf0U) == 0 && !token.empty()) validated_[source] = true;
        wire::LongHeader header;
        header.type = (choice & 0x20U) != 0 ? wire::LongType::handshake : wire::LongType::hello;
        header.destination = ConnectionId{1000U + (choice & 3U)};
        header.source = ConnectionId{2000U + (choice & 4U)};
        if (header.type == wire::LongType::hello) header.token = token;
        header.packet_number = next_number_++;
        std::vector<std::byte> packet(wire::kMinInitialDatagram + bytes.size());
        const std::size_t header_bytes = wire::write_long_header(header, packet);
        std::copy(bytes.begin() + 1, bytes.end(), packet.begin() + static_cast<std::ptrdiff_t>(header_bytes));
        auto keys = crypto::derive_initial(provider(), header.destination);
        keys.client.aead->seal(crypto::make_nonce(keys.client.iv, PathId{0}, header.packet_number), packet,
                               header_bytes);
        deliver(source, std::move(packet));
    }

    void pass(Duration time) {
        now_ += time;
        for (int i = 0; i < 100; ++i) {
            const auto due = endpoint_.poll_timeout();
            if (!due || *due > now_) break;
            endpoint_.handle_timeout(std::max(*due, handled_));
            drain();
        }
        drain();
    }

    void finish() {
        for (int i = 0; i < 40; ++i) pass(std::chrono::milliseconds(500));
        require(endpoint_.connection_count() == 0, "nothing that did not authenticate outlives its time");
    }

  private:
    static openssl::OpensslProvider& provider() {
        static openssl::OpensslProvider shared;
        return shared;
    }
    static Address address_of(std::size_t source) {
        Address address{.family = Address::Family::v4, .port = 5000};
        address.ip = {10, 0, 0, static_cast<std::uint8_t>(10 + source)};
        return address;
    }

    void deliver(std::size_t source, std::vector<std::byte> bytes) {
        received_[source] += bytes.size();
        endpoint_.handle_datagram(now_, {.local = Address{.family = Address::Family::v4, .port = 1},
                                         .remote = address_of(source),
                                         .data = bytes,
                                         .received = now_});
        drain();
    }

    void drain() {
        handled_ = now_;
        for (int rounds = 0; rounds < 1000; ++rounds) {
            bool any = false;
            while (const auto connection = endpoint_.poll_touched()) {
                while (connection->poll_event()) {
                }
            }
            while (const auto t = endpoint_.poll_transmit(now_, 16, buffer_)) {
                any = true;
                account(*t);
            }
            if (!any) break;
            require(rounds < 999, "sending ends");
        }
        require(endpoint_.accept() == nullptr, "nobody is accepted without a handshake");
        const std::size_t half_open = endpoint_.half_open_count();
        require(half_open <= proto::Endpoint::kMaxHalfOpen, "handshakes under way are bounded");
        require(endpoint_.connection_count() - half_open <= kMaxConnections, "connections are bounded");
    }

    void account(const proto::Transmit& t) {
        for (std::size_t source = 0; source < kSources; ++source) {
            if (t.remote != address_of(source)) continue;
            sent_[source] += t.size;
            const auto data = std::span<const std::byte>(buffer_).first(t.size);
            const auto header = wire::parse_long_header(data);
            if (header && header->type == wire::LongType::retry) {
                cookies_[source].assign(header->token.begin(), header->token.end());
            }
            require(validated_[source] || sent_[source] <= received_[source], "no more bytes back than came in");
            return;
        }
        require(false, "nothing goes to an address that sent nothing");
    }

    DeafFactory factory_;
    sim::SimRng rng_{1};
    proto::Endpoint endpoint_;
    Instant now_{std::chrono::hours(1)};
    Instant handled_{};
    std::uint32_t next_number_ = 0;
    std::array<std::uint64_t, kSources> received_{};
    std::array<std::uint64_t, kSources> sent_{};
    std::array<bool, kSources> validated_{};  // has returned the cookie that it received
    std::array<std::vector<std::byte>, kSources> cookies_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(65000);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto in = std::as_bytes(std::span(data, size));
    Target target;
    for (int records = 0; in.size() >= 4 && records < 200; ++records) {
        const auto kind = static_cast<std::uint8_t>(in[0]);
        const std::size_t source = static_cast<std::uint8_t>(in[1]) % kSources;
        const std::size_t wanted = static_cast<std::size_t>(in[2]) | static_cast<std::size_t>(in[3]) << 8U;
        in = in.subspan(4);
        const auto bytes = in.first(std::min(wanted, in.size()));
        in = in.subspan(bytes.size());
        switch (kind % 4) {
            case 0:
                target.raw(source, bytes);
                break;
            case 1:
            case 2:
                target.hello(source, bytes);
                break;
            default:
                target.pass(std::chrono::milliseconds(wanted % 3000));
        }
    }
    target.finish();
    return 0;
}
