#include "crypto/packet_protection.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>
#include <utility>

#include "crypto/bytes.hpp"
#include "udtx/core/crypto.hpp"
#include "wire/cursor.hpp"

namespace udtx::crypto {
namespace {

constexpr std::string_view kLabelPrefix = "udtx2 ";

// The first 20 bytes of SHA-256("udtx-2 initial salt"). Versions 2 and 3 have the same handshake packets and the same
// salt.
constexpr std::array<std::uint8_t, 20> kInitialSalt = {0x06, 0xc1, 0x7f, 0xef, 0xe8, 0xea, 0x7b, 0xbd, 0x85, 0xb1,
                                                       0x4f, 0xe3, 0x9f, 0x99, 0x1d, 0xfd, 0xbf, 0x75, 0x90, 0x90};

// Handshake packets count up from 0 on path 0, so they never use this nonce.
constexpr PathId kRetryPath{0xff};
constexpr PacketNumber kRetryNumber = std::numeric_limits<PacketNumber>::max();

}  // namespace

Nonce make_nonce(const Nonce& iv, PathId path, PacketNumber number) noexcept {
    // Stored in pieces of 8 and 4 bytes, as ciphers load it. A load that spans several stores waits for all earlier
    // stores, which are those of the packet.
    Nonce nonce;
    const std::uint64_t high = std::uint64_t{path.value} << 32U | number >> 32U;
    const auto low = static_cast<std::uint32_t>(number);
    wire::store_network(nonce.data(), high ^ wire::load_network<std::uint64_t>(iv.data()));
    wire::store_network(nonce.data() + 8, low ^ wire::load_network<std::uint32_t>(iv.data() + 8));
    return nonce;
}

void expand_label(Provider& provider, const Secret& secret, std::string_view label, std::span<std::byte> out) {
    std::array<std::byte, 64> info{};
    const std::size_t label_bytes = kLabelPrefix.size() + label.size();
    const std::size_t info_bytes = 2 + 1 + label_bytes + 1;
    assert(info_bytes <= info.size());
    auto rest = put_big_endian(std::span<std::byte>(info), static_cast<std::uint16_t>(out.size()));
    rest = put_big_endian(rest, static_cast<std::uint8_t>(label_bytes));
    const auto prefix = std::as_bytes(std::span(kLabelPrefix));
    std::copy(prefix.begin(), prefix.end(), rest.begin());
    const auto text = std::as_bytes(std::span(label));
    std::copy(text.begin(), text.end(), rest.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
    provider.hkdf_expand(secret, std::span<const std::byte>(info).first(info_bytes), out);
}

PacketKey derive_packet_key(Provider& provider, Cipher cipher, const Secret& secret, std::size_t packet_threads) {
    PacketKey result;
    std::array<std::byte, kKeyBytes> key{};
    expand_label(provider, secret, "key", key);
    expand_label(provider, secret, "iv", result.iv);
    result.aead = provider.make_aead(cipher, key);
    for (std::size_t i = 0; i < packet_threads; ++i) result.packet_threads.push_back(provider.make_aead(cipher, key));
    wipe(key);
    return result;
}

namespace {

Secret initial_secret(Provider& provider, ConnectionId original_destination) {
    std::array<std::byte, 8> id{};
    put_big_endian(std::span<std::byte>(id), original_destination.value);
    return provider.hkdf_extract(std::as_bytes(std::span(kInitialSalt)), id);
}

PacketKey initial_key(Provider& provider, const Secret& initial, std::string_view label) {
    Secret secret{};
    expand_label(provider, initial, label, secret);
    return derive_packet_key(provider, Cipher::aes_256_gcm, secret);
}

}  // namespace

InitialKeys derive_initial(Provider& provider, ConnectionId original_destination) {
    const Secret initial = initial_secret(provider, original_destination);
    return {initial_key(provider, initial, "client in"), initial_key(provider, initial, "server in")};
}

Tag retry_tag(Provider& provider, ConnectionId original_destination, std::span<const std::byte> header_and_token) {
    const PacketKey key = initial_key(provider, initial_secret(provider, original_destination), "server in");
    std::vector<std::byte> packet(header_and_token.begin(), header_and_token.end());
    packet.resize(packet.size() + kTagBytes);
    key.aead->seal(make_nonce(key.iv, kRetryPath, kRetryNumber), packet, header_and_token.size());
    Tag tag{};
    std::copy(packet.end() - static_cast<std::ptrdiff_t>(kTagBytes), packet.end(), tag.begin());
    return tag;
}

bool check_retry_tag(Provider& provider, ConnectionId original_destination, std::span<const std::byte> packet) {
    if (packet.size() < kTagBytes) return false;
    const std::size_t clear = packet.size() - kTagBytes;
    return equal_in_constant_time(retry_tag(provider, original_destination, packet.first(clear)),
                                  packet.subspan(clear));
}

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

SessionKeys::SessionKeys(Provider& provider, Cipher cipher, Role role, const Secret& exported,
                         std::size_t packet_threads)
    : SessionKeys(provider, cipher, role, exported, limits_for(cipher), packet_threads) {}

SessionKeys::SessionKeys(Provider& provider, Cipher cipher, Role role, const Secret& exported, KeyLimits limits,
                         std::size_t packet_threads)
    : provider_(provider), cipher_(cipher), limits_(limits), packet_threads_(packet_threads) {
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
    return std::make_shared<const PacketKey>(derive_packet_key(provider_, cipher_, secret, packet_threads_));
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

namespace {

constexpr std::uint64_t kWordBits = 64;

constexpr std::uint64_t bit_of(PacketNumber number) noexcept { return 1ULL << (number % kWordBits); }

}  // namespace

ReplayWindow::ReplayWindow(std::uint64_t packets) : max_words_(packets / kWordBits) {
    assert(std::has_single_bit(packets) && packets >= 2 * kWordBits);
}

bool ReplayWindow::check(PacketNumber number) const noexcept {
    const std::uint64_t word = number / kWordBits;
    if (words_.empty() || word > top_word_) return true;
    if (top_word_ - word >= max_words_) return false;
    // While words_ is smaller than the window, every word from 0 on has a slot.
    return (words_[slot(word)] & bit_of(number)) == 0;
}

void ReplayWindow::mark(PacketNumber number) {
    const std::uint64_t word = number / kWordBits;
    if (words_.empty() || word > top_word_) advance_to(word);
    if (top_word_ - word < max_words_) words_[slot(word)] |= bit_of(number);
}

void ReplayWindow::advance_to(std::uint64_t word) {
    if (words_.size() < max_words_ && word >= words_.size()) {
        const std::uint64_t size = word >= max_words_ ? max_words_ : std::min(max_words_, std::bit_ceil(word + 1));
        words_.resize(static_cast<std::size_t>(size));  // up to here word w is at slot w, and it stays there
    }
    const std::uint64_t stale = std::min<std::uint64_t>(word - top_word_, words_.size());
    for (std::uint64_t i = 0; i < stale; ++i) words_[slot(word - i)] = 0;
    top_word_ = word;
}

std::string_view to_string(Cipher cipher) noexcept {
    switch (cipher) {
        case Cipher::aes_256_gcm:
            return "aes-256-gcm";
        case Cipher::chacha20_poly1305:
            return "chacha20-poly1305";
    }
    return "unknown";
}

}  // namespace udtx::crypto
