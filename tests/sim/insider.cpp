#include "sim/insider.hpp"

#include <algorithm>
#include <utility>

#include "crypto/packet_protection.hpp"

namespace udtx::sim {

class TappedProvider::TappedAead final : public crypto::Aead {
  public:
    TappedAead(TappedProvider& owner, std::size_t key, std::unique_ptr<crypto::Aead> real)
        : owner_(owner), key_(key), real_(std::move(real)) {}
    void seal(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        if (header_bytes == wire::kShortHeaderBytes) owner_.on_seal(key_, real_, nonce, packet);
        real_->seal(nonce, packet, header_bytes);
    }
    bool open(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        return real_->open(nonce, packet, header_bytes);
    }

  private:
    TappedProvider& owner_;
    std::size_t key_;
    std::shared_ptr<crypto::Aead> real_;
};

std::unique_ptr<crypto::Aead> TappedProvider::make_aead(crypto::Cipher cipher, std::span<const std::byte> key) {
    return std::make_unique<TappedAead>(*this, keys_++, real_.make_aead(cipher, key));
}

void TappedProvider::on_seal(std::size_t key, const std::shared_ptr<crypto::Aead>& aead, const crypto::Nonce& nonce,
                             std::span<std::byte> packet) {
    const auto header = wire::parse_short_header(packet);
    if (!header) return;
    // Packet numbers of simulated connections stay below 2^24, so that the header's bits are the whole number. The
    // nonce without this number is the IV.
    const PacketNumber number = header->packet_number;
    last_aead_ = aead;
    last_iv_ = crypto::make_nonce(nonce, header->path, number);
    last_header_ = *header;
    last_number_ = number;
    const std::size_t end = packet.size() - wire::kTagBytes;
    if (tap_) {
        tap_({key, *header, number, packet.subspan(wire::kShortHeaderBytes, end - wire::kShortHeaderBytes)});
    }
}

std::vector<std::byte> TappedProvider::forge(PacketNumber number, const std::function<void(wire::Writer&)>& fill,
                                             std::size_t size, std::optional<PathId> path) {
    std::vector<std::byte> packet(size);
    wire::Writer w(std::span<std::byte>(packet).subspan(wire::kShortHeaderBytes,
                                                        size - wire::kShortHeaderBytes - wire::kTagBytes));
    fill(w);
    packet.resize(wire::kShortHeaderBytes + w.size() + wire::kTagBytes);
    wire::ShortHeader header = last_header_;
    header.packet_number = static_cast<std::uint32_t>(number);
    header.pair_second = false;
    if (path) header.path = *path;
    wire::write_short_header(header, packet);
    last_aead_->seal(crypto::make_nonce(last_iv_, header.path, number), packet, wire::kShortHeaderBytes);
    return packet;
}

}  // namespace udtx::sim
