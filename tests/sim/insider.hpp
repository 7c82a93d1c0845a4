// The inside view of a connection: the packets that an end is about to seal, and forged packets under its keys. Models
// a peer that holds the keys and breaks the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "udtx/core/crypto.hpp"
#include "wire/cursor.hpp"
#include "wire/header.hpp"

namespace udtx::sim {

/// Wraps a host's cryptography.
class TappedProvider final : public crypto::Provider {
  public:
    explicit TappedProvider(crypto::Provider& real) : real_(real) {}

    /// A data packet just before sealing; the tap may change `payload`. Keys are numbered in the order of their
    /// creation.
    struct Sealing {
        std::size_t key = 0;
        wire::ShortHeader header;
        PacketNumber number = 0;  ///< full number as in the nonce; the header has its low 24 bits
        std::span<std::byte> payload;
    };
    using Tap = std::function<void(const Sealing&)>;
    void set_tap(Tap tap) { tap_ = std::move(tap); }

    /// Builds a data packet under the key that this end used last, on the same path or another. `fill` writes the
    /// frames.
    [[nodiscard]] std::vector<std::byte> forge(PacketNumber number, const std::function<void(wire::Writer&)>& fill,
                                               std::size_t size = 1200, std::optional<PathId> path = {});
    [[nodiscard]] PacketNumber last_number() const noexcept { return last_number_; }
    /// True once a data packet has been sealed; forge() needs its key.
    [[nodiscard]] bool ready() const noexcept { return last_aead_ != nullptr; }

    std::unique_ptr<crypto::Aead> make_aead(crypto::Cipher cipher, std::span<const std::byte> key) override;
    crypto::Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) override {
        return real_.hkdf_extract(salt, key_material);
    }
    void hkdf_expand(const crypto::Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) override {
        real_.hkdf_expand(prk, info, out);
    }
    crypto::Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) override {
        return real_.hmac_sha256(key, data);
    }

  private:
    class TappedAead;
    void on_seal(std::size_t key, const std::shared_ptr<crypto::Aead>& aead, const crypto::Nonce& nonce,
                 std::span<std::byte> packet);

    crypto::Provider& real_;
    Tap tap_;
    std::size_t keys_ = 0;
    std::shared_ptr<crypto::Aead> last_aead_;
    crypto::Nonce last_iv_{};
    wire::ShortHeader last_header_;
    PacketNumber last_number_ = 0;
};

}  // namespace udtx::sim
