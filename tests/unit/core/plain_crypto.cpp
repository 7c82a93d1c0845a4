#include "plain_crypto.hpp"

#include <algorithm>
#include <utility>

namespace plain {

namespace {

using udtx::Error;
using udtx::ErrorCode;
using udtx::Result;
using udtx::crypto::Nonce;
using udtx::crypto::Secret;

/// The FNV-1a hash.
class Mix {
  public:
    Mix& add(std::span<const std::byte> bytes) {
        for (const std::byte b : bytes) value_ = (value_ ^ static_cast<std::uint64_t>(b)) * 0x100000001b3U;
        return *this;
    }
    void write(std::span<std::byte> out) {
        for (std::byte& b : out) {
            value_ = (value_ ^ 0x5bU) * 0x100000001b3U;
            b = static_cast<std::byte>(value_ >> 32U);
        }
    }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

class Aead final : public udtx::crypto::Aead {
  public:
    explicit Aead(std::span<const std::byte> key) : key_(key.begin(), key.end()) {}
    void seal(const Nonce& nonce, std::span<std::byte> packet, std::size_t /*header_bytes*/) override {
        write_tag(nonce, packet, packet.last(udtx::crypto::kTagBytes));
    }
    bool open(const Nonce& nonce, std::span<std::byte> packet, std::size_t /*header_bytes*/) override {
        std::array<std::byte, udtx::crypto::kTagBytes> tag{};
        write_tag(nonce, packet, tag);
        return std::ranges::equal(tag, packet.last(tag.size()));
    }

  private:
    void write_tag(const Nonce& nonce, std::span<const std::byte> packet, std::span<std::byte> tag) const {
        Mix().add(key_).add(nonce).add(packet.first(packet.size() - udtx::crypto::kTagBytes)).write(tag);
    }
    std::vector<std::byte> key_;
};

class Handshake final : public udtx::crypto::Handshake {
  public:
    explicit Handshake(std::vector<std::byte> parameters) : client_(true), own_(std::move(parameters)) {}
    explicit Handshake(HandshakeFactory::SelectParameters select) : select_(std::move(select)) {}

    Result<void> provide(std::span<const std::byte> bytes) override {
        in_.insert(in_.end(), bytes.begin(), bytes.end());
        if (client_ && bytes.empty()) say(own_);
        if (peer_.empty() && !in_.empty() && in_.size() > static_cast<std::size_t>(in_[0])) {
            const auto end = in_.begin() + 1 + static_cast<std::ptrdiff_t>(in_[0]);
            peer_.assign(in_.begin() + 1, end);
            in_.erase(in_.begin(), end);
            if (client_) {
                out_.push_back(std::byte{1});
                complete_ = true;
            } else {
                auto ours = select_(peer_);
                if (!ours) return ours.error();
                say(*ours);
            }
        }
        if (!client_ && !peer_.empty() && !in_.empty()) complete_ = true;
        return {};
    }
    std::vector<std::byte> take_output() override { return std::exchange(out_, {}); }
    [[nodiscard]] bool complete() const override { return complete_; }
    Result<Secret> export_secret(std::string_view label) override {
        Secret secret{};
        Mix().add(std::as_bytes(std::span(label))).write(secret);
        return secret;
    }
    [[nodiscard]] std::span<const std::byte> peer_parameters() const override { return peer_; }

  private:
    /// Sends a length byte and the bytes; at most 255.
    void say(std::span<const std::byte> bytes) {
        out_.push_back(static_cast<std::byte>(bytes.size()));
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    }

    bool client_ = false;
    bool complete_ = false;
    std::vector<std::byte> own_;
    HandshakeFactory::SelectParameters select_;
    std::vector<std::byte> in_;
    std::vector<std::byte> out_;
    std::vector<std::byte> peer_;
};

}  // namespace

std::unique_ptr<udtx::crypto::Aead> Provider::make_aead(udtx::crypto::Cipher /*cipher*/,
                                                        std::span<const std::byte> key) {
    return std::make_unique<Aead>(key);
}

Secret Provider::hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) {
    return hmac_sha256(salt, key_material);
}

void Provider::hkdf_expand(const Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) {
    Mix().add(prk).add(info).write(out);
}

Secret Provider::hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) {
    Secret out{};
    Mix().add(key).add(data).write(out);
    return out;
}

std::unique_ptr<udtx::crypto::Handshake> HandshakeFactory::make_client(std::vector<std::byte> parameters) {
    return std::make_unique<Handshake>(std::move(parameters));
}

std::unique_ptr<udtx::crypto::Handshake> HandshakeFactory::make_server(SelectParameters select) {
    return std::make_unique<Handshake>(std::move(select));
}

}  // namespace plain
