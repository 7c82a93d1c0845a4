#include "crypto/key_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "crypto/wipe.hpp"

namespace udtx::crypto {
namespace {

Secret first_secret(Provider& provider, const Secret& exported, Role sender) {
    Secret secret{};
    expand_label(provider, exported, sender == Role::client ? "client data" : "server data", secret);
    return secret;
}

}  // namespace

// RFC 9001, appendix B.1: with packets of up to 2^16 bytes the confidentiality limit of AES-GCM is 2^23 packets, and
// its integrity limit (section 6.6) is 2^52. ChaCha20-Poly1305 has no confidentiality limit below the number of packet
// numbers. It gets the same bound, so that both ciphers rekey at the same rate. Its integrity limit is 2^36.
KeyLimits limits_for(Cipher cipher) noexcept {
    switch (cipher) {
        case Cipher::aes_256_gcm:
            return {1ULL << 23U, 1ULL << 52U};
        case Cipher::chacha20_poly1305:
            return {1ULL << 23U, 1ULL << 36U};
    }
    return {};
}

SessionKeys::SessionKeys(Provider& provider, Cipher cipher, Role role, const Secret& exported, std::size_t lanes)
    : SessionKeys(provider, cipher, role, exported, limits_for(cipher), lanes) {}

SessionKeys::SessionKeys(Provider& provider, Cipher cipher, Role role, const Secret& exported, KeyLimits limits,
                         std::size_t lanes)
    : provider_(provider), cipher_(cipher), limits_(limits), lanes_(lanes) {
    const Role peer = role == Role::client ? Role::server : Role::client;
    send_secret_ = first_secret(provider, exported, role);
    receive_secret_ = first_secret(provider, exported, peer);
    send_ = make_key(send_secret_);
    receive_ = make_key(receive_secret_);
    next_send_ = next_key(send_secret_);
    next_receive_ = next_key(receive_secret_);
}

SessionKeys::~SessionKeys() {
    wipe(send_secret_);
    wipe(receive_secret_);
}

PacketKeyPtr SessionKeys::make_key(const Secret& secret) {
    return std::make_shared<const PacketKey>(derive_packet_key(provider_, cipher_, secret, lanes_));
}

PacketKeyPtr SessionKeys::next_key(Secret& secret) {
    Secret next{};
    expand_label(provider_, secret, "ku", next);
    secret = next;
    wipe(next);
    return make_key(secret);
}

std::optional<PacketNumber> SessionKeys::first_on(const Firsts& firsts, PathId path) noexcept {
    const auto it = std::find_if(firsts.begin(), firsts.end(), [path](const First& f) { return f.path == path; });
    return it == firsts.end() ? std::nullopt : std::optional(it->number);
}

void SessionKeys::lower_any(Firsts& firsts, PathId path, PacketNumber number) {
    const auto it = std::find_if(firsts.begin(), firsts.end(), [path](const First& f) { return f.path == path; });
    if (it == firsts.end()) {
        firsts.push_back({path, number});
    } else {
        it->number = std::min(it->number, number);
    }
}

void SessionKeys::seal(PathId path, PacketNumber number, std::span<std::byte> packet, std::size_t header_bytes) {
    assert(packet.size() >= header_bytes + kTagBytes);
    note_sealed(path, number);
    send_->aead->seal(make_nonce(send_->iv, path, number), packet, header_bytes);
}

void SessionKeys::note_sealed(PathId path, PacketNumber number) {
    lower_first(sent_firsts_, path, number);
    ++sealed_;
}

PacketKeyPtr SessionKeys::receive_key(bool phase) const {
    return phase == ((receive_generation_ & 1U) != 0) ? receive_ : nullptr;
}

void SessionKeys::note_opened(const PacketKey& with, PathId path, PacketNumber number, bool authentic) {
    if (!authentic) {
        ++failed_opens_;
    } else if (&with == receive_.get()) {
        lower_first(received_firsts_, path, number);
    }
}

bool SessionKeys::open_with(const PacketKey& key, PathId path, PacketNumber number, std::span<std::byte> packet,
                            std::size_t header_bytes) {
    return key.aead->open(make_nonce(key.iv, path, number), packet, header_bytes);
}

bool SessionKeys::open(PathId path, PacketNumber number, bool phase, std::span<std::byte> packet,
                       std::size_t header_bytes) {
    if (packet.size() < header_bytes + kTagBytes) return false;
    bool opened = false;
    if (phase == ((receive_generation_ & 1U) != 0)) {
        opened = open_with(*receive_, path, number, packet, header_bytes);
        if (opened) lower_first(received_firsts_, path, number);
    } else {
        opened = open_other_phase(path, number, packet, header_bytes);
    }
    if (!opened) ++failed_opens_;
    return opened;
}

// The key phase bit says that the packet is not of the current generation. Its number selects the neighbour (RFC 9001,
// section 6.3). A number below the first one of the current generation on this path can only be of the previous
// generation. A number above it can only be of the next. If the path has shown no packet of the current generation yet,
// both are possible.
bool SessionKeys::open_other_phase(PathId path, PacketNumber number, std::span<std::byte> packet,
                                   std::size_t header_bytes) {
    const auto first = first_on(received_firsts_, path);
    const bool maybe_previous = previous_receive_ != nullptr && (!first || number < *first);
    const bool maybe_next = peer_may_update() && (!first || number > *first);
    if (maybe_previous) {
        if (maybe_next) scratch_.assign(packet.begin(), packet.end());
        if (open_with(*previous_receive_, path, number, packet, header_bytes)) return true;
        if (!maybe_next) return false;
        std::copy(scratch_.begin(), scratch_.end(), packet.begin());  // a failed open() destroys the packet
    }
    if (!maybe_next || !open_with(*next_receive_, path, number, packet, header_bytes)) return false;
    rotate_receive();
    lower_first(received_firsts_, path, number);
    if (send_generation_ < receive_generation_) rotate_send();
    return true;
}

// An honest peer updates only after we acknowledged its current generation, and for that we have sealed a packet in
// ours. This bounds the cost of a flood of updates: one derivation for each packet that we seal.
bool SessionKeys::peer_may_update() const noexcept { return sealed_ > 0; }

void SessionKeys::rotate_receive() {
    previous_receive_ = std::exchange(receive_, std::exchange(next_receive_, next_key(receive_secret_)));
    received_firsts_.clear();
    ++receive_generation_;
}

void SessionKeys::rotate_send() {
    send_ = std::exchange(next_send_, next_key(send_secret_));
    sent_firsts_.clear();
    sealed_ = 0;
    acked_in_phase_ = false;
    ++send_generation_;
}

void SessionKeys::on_acked(PathId path, PacketNumber number) noexcept {
    const auto first = first_on(sent_firsts_, path);
    if (first && number >= *first) acked_in_phase_ = true;
}

bool SessionKeys::can_update() const noexcept { return acked_in_phase_ && send_generation_ == receive_generation_; }

void SessionKeys::initiate_update() {
    assert(can_update());
    rotate_send();
}

void SessionKeys::drop_previous() noexcept { previous_receive_.reset(); }

}  // namespace udtx::crypto
