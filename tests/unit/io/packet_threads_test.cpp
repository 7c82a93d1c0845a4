#include "io/packet_threads.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "crypto/packet_protection.hpp"
#include "openssl/provider.hpp"
#include "test/catch.hpp"
#include "udtx/address.hpp"
#include "udtx/core/datagram.hpp"
#include "wire/header.hpp"

using namespace udtx;

namespace {

constexpr std::size_t kThreads = 3;
constexpr std::size_t kBatchBytes = 20'000;
constexpr std::size_t kPacket = 200;
constexpr PathId kPath{1};
constexpr ConnectionId kConnection{42};

/// Accepts whole packets in the order of the calls, and sometimes fewer than offered.
class FakeSocket : public io::DatagramSocket {
  public:
    Address local_address() const override { return {}; }
    int native_handle() const override { return -1; }
    std::span<proto::RxDatagram> receive() override { return {}; }
    int receive_error() const noexcept override { return 0; }
    std::vector<io::Refusal> take_refusals() override { return {}; }
    std::string buffer_advice() const override { return {}; }
    io::SendResult send(const proto::Transmit& transmit, std::span<const std::byte> bytes) override {
        using Status = io::SendResult::Status;
        if (transmit.mtu_probe) return {Status::too_large, 0, 0};
        const bool full = ++calls_ % 7 == 0;
        const std::size_t packets = bytes.size() / kPacket;
        const std::size_t taken = (full ? packets / 2 : packets) * kPacket;
        for (std::size_t at = 0; at < taken; at += kPacket) {
            sent.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                              bytes.begin() + static_cast<std::ptrdiff_t>(at + kPacket));
        }
        return {full ? Status::would_block : Status::sent, taken, 0};
    }

    std::vector<std::vector<std::byte>> sent;

  private:
    std::size_t calls_ = 0;
};

/// Accepts nothing while it is full.
class FullSocket final : public FakeSocket {
  public:
    io::SendResult send(const proto::Transmit& transmit, std::span<const std::byte> bytes) override {
        if (full) return {io::SendResult::Status::would_block, 0, 0};
        return FakeSocket::send(transmit, bytes);
    }
    bool full = true;
};

/// Counts the calls of packet threads.
struct FakeOwner final : io::PacketThreadsOwner {
    void on_room() override { ++rooms; }
    void on_not_sent(const proto::Transmit&, const io::SendResult&) override { ++not_sent; }
    std::optional<proto::Opening> opening_of(std::span<const std::byte> datagram) const override {
        const auto header = wire::parse_short_header(datagram);
        if (!key || !header || header->destination != kConnection) return std::nullopt;
        return proto::Opening{.destination = kConnection, .path = kPath, .key = key, .expected = 0};
    }

    std::atomic<unsigned> rooms{0};
    std::atomic<unsigned> not_sent{0};
    crypto::PacketKeyPtr key;
};

crypto::PacketKeyPtr make_key(openssl::OpensslProvider& provider, std::size_t packet_threads) {
    crypto::Secret secret{};
    secret[0] = std::byte{7};
    return std::make_shared<const crypto::PacketKey>(
        crypto::derive_packet_key(provider, crypto::Cipher::aes_256_gcm, secret, packet_threads));
}

void write_packet(std::span<std::byte> out, PacketNumber number, ConnectionId connection = kConnection) {
    std::fill(out.begin(), out.end(), static_cast<std::byte>(number));
    wire::ShortHeader header;
    header.destination = connection;
    header.path = kPath;
    header.packet_number = static_cast<std::uint32_t>(number);
    wire::write_short_header(header, out);
}

}  // namespace

TEST_CASE("Packet threads send every batch once, sealed, in the order in which they were built") {
    openssl::OpensslProvider provider;
    FakeSocket socket;
    FakeOwner owner;
    io::PacketThreads packet_threads(socket, kThreads, kBatchBytes, owner);
    // Packet numbers that pass 2^32, because a header has only their low half.
    constexpr PacketNumber kFirst = (1ULL << 32U) - 5'000;
    PacketNumber next = kFirst;
    unsigned probes = 0;
    auto key = make_key(provider, kThreads);
    const auto other_end = make_key(provider, 0);
    std::minstd_rand random(1);
    for (unsigned i = 0; i < 600; ++i) {
        auto room = packet_threads.send.room();
        for (; room.empty(); room = packet_threads.send.room()) std::this_thread::yield();
        proto::Transmit t;
        t.path = kPath;
        t.segment = kPacket;
        t.key = key;
        t.first_number = next;
        t.mtu_probe = i % 50 == 0;
        const std::size_t packets = t.mtu_probe || i % 5 == 0 ? 1 : 1 + random() % (kBatchBytes / kPacket);
        t.size = packets * kPacket;
        for (std::size_t k = 0; k < packets; ++k) write_packet(room.subspan(k * kPacket, kPacket), next + k);
        if (t.mtu_probe) {
            ++probes;
        } else {
            next += packets;
        }
        packet_threads.send.submit(std::move(t));
    }
    key.reset();  // batches in progress keep their key
    for (unsigned tries = 0; tries < 500 && !packet_threads.send.flush(); ++tries) {
    }
    CHECK(owner.not_sent == probes);
    REQUIRE(socket.sent.size() == next - kFirst);
    for (std::size_t i = 0; i < socket.sent.size(); ++i) {
        const PacketNumber number = kFirst + i;
        const auto nonce = crypto::make_nonce(other_end->iv, kPath, number);
        REQUIRE(other_end->aead->open(nonce, socket.sent[i], wire::kShortHeaderBytes));
        REQUIRE(socket.sent[i][wire::kShortHeaderBytes] == static_cast<std::byte>(number));
    }
}

TEST_CASE("Packet threads open what is theirs of a received batch, and leave the rest as it was") {
    openssl::OpensslProvider provider;
    const auto sender = make_key(provider, 0);
    const auto key = make_key(provider, kThreads);
    FakeSocket socket;
    FakeOwner owner;
    owner.key = key;
    io::PacketThreads packet_threads(socket, kThreads, kBatchBytes, owner);
    std::minstd_rand random(2);
    std::vector<std::byte> memory(400 * kPacket);
    std::vector<proto::RxDatagram> batch;
    for (unsigned round = 0; round < 100; ++round) {
        batch.assign(random() % 400, {});
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto packet = std::span(memory).subspan(i * kPacket, kPacket);
            write_packet(packet, i, ConnectionId{i % 11 == 10 ? 43U : kConnection.value});
            sender->aead->seal(crypto::make_nonce(sender->iv, kPath, i), packet, wire::kShortHeaderBytes);
            if (i % 13 == 12) packet.back() ^= std::byte{1};
            batch[i].data = packet;
        }
        packet_threads.open.begin(batch);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            packet_threads.open.reach(i);
            auto& datagram = batch[i];
            const bool ours = i % 11 != 10;
            const bool forged = i % 13 == 12;
            if (!ours) REQUIRE_FALSE(datagram.opened);
            if (datagram.opened) {
                REQUIRE(datagram.opened->number == i);
                REQUIRE(datagram.opened->authentic != forged);
            } else {
                const auto nonce = crypto::make_nonce(key->iv, kPath, i);
                REQUIRE(key->aead->open(nonce, datagram.data, wire::kShortHeaderBytes) != forged);
            }
            if (!forged) REQUIRE(datagram.data[wire::kShortHeaderBytes] == static_cast<std::byte>(i));
        }
        packet_threads.open.end();
    }
}

TEST_CASE("Room that a packet thread makes while the protocol thread calls for help is not missed") {
    openssl::OpensslProvider provider;
    const auto key = make_key(provider, 1);
    FullSocket socket;
    io::ParallelSend* packet_threads = nullptr;
    unsigned calls = 0;
    unsigned batches = 0;
    // One call for each batch that is built, one for each that finds the socket full. After that the sender can only
    // wait.
    const auto call = [&](std::size_t) {
        if (++calls <= 2 * batches || batches == 0) return;
        socket.full = false;
        while (packet_threads->work(0)) {
        }
    };
    FakeOwner owner;
    io::ParallelSend sender(socket, 1, kBatchBytes, owner, call);
    packet_threads = &sender;
    const auto submit = [&](std::span<std::byte> room) {
        proto::Transmit t;
        t.path = kPath;
        t.segment = kPacket;
        t.key = key;
        t.size = kBatchBytes / kPacket * kPacket;
        for (std::size_t at = 0; at < t.size; at += kPacket) write_packet(room.subspan(at, kPacket), at / kPacket);
        sender.submit(std::move(t));
    };
    constexpr unsigned kRing = 5;  // batches, with one packet thread
    for (unsigned i = 0; i < kRing; ++i) submit(sender.room());
    REQUIRE(calls == kRing);
    batches = kRing;
    CHECK((!sender.room().empty() || owner.rooms > 0));
    CHECK_FALSE(socket.full);
}
