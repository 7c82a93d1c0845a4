#include "crypto/proofs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "crypto/bytes.hpp"

namespace udtx::crypto {
namespace {

constexpr std::size_t kClearBytes = 9;  // seconds and key generation

std::uint64_t seconds_of(Instant at) noexcept {
    return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
}

}  // namespace

CookieJar::CookieJar(Provider& provider, Rng& rng) : provider_(provider), rng_(rng) {
    for (Secret& key : keys_) rng_.fill(key);
}

CookieJar::~CookieJar() {
    for (Secret& key : keys_) wipe(key);
}

void CookieJar::rotate_if_due(Instant now) {
    if (!started_) {
        started_ = true;
        key_since_ = now;
    }
    if (now - key_since_ < kKeyPeriod) return;
    ++generation_;
    rng_.fill(keys_[generation_ % keys_.size()]);
    key_since_ = now;
}

CookieJar::Mac CookieJar::mac(const Secret& key, std::span<const std::byte> clear, const Address& client,
                              ConnectionId original_destination) const {
    std::array<std::byte, kClearBytes + 1 + 2 + 4 + 16 + 8> input{};
    std::copy(clear.begin(), clear.end(), input.begin());
    auto rest = std::span<std::byte>(input).subspan(clear.size());
    rest = put_big_endian(rest, static_cast<std::uint8_t>(client.family));
    rest = put_big_endian(rest, client.port);
    rest = put_big_endian(rest, client.scope);
    for (const std::uint8_t b : client.ip) rest = put_big_endian(rest, b);
    put_big_endian(rest, original_destination.value);
    const Secret full = provider_.hmac_sha256(key, input);
    Mac result{};
    std::copy_n(full.begin(), result.size(), result.begin());
    return result;
}

Cookie CookieJar::make(Instant now, const Address& client, ConnectionId original_destination) {
    rotate_if_due(now);
    Cookie cookie{};
    put_big_endian(put_big_endian(std::span<std::byte>(cookie), seconds_of(now)), generation_);
    const Mac tag =
        mac(keys_[generation_ % keys_.size()], std::span(cookie).first(kClearBytes), client, original_destination);
    std::copy(tag.begin(), tag.end(), cookie.begin() + kClearBytes);
    return cookie;
}

bool CookieJar::check(Instant now, const Address& client, ConnectionId original_destination,
                      std::span<const std::byte> token) const {
    if (token.size() != kCookieBytes) return false;
    const auto clear = token.first(kClearBytes);
    const auto issued = get_big_endian<std::uint64_t>(clear);
    const std::uint64_t current = seconds_of(now);
    // The subtraction is unsigned: a cookie from the future (made before a restart, or forged) counts as too old.
    if (current - issued >=
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(kLifetime).count()))
        return false;
    const auto generation = get_big_endian<std::uint8_t>(clear.subspan(8));
    if (static_cast<std::uint8_t>(generation_ - generation) >= keys_.size()) return false;
    return equal_in_constant_time(mac(keys_[generation % keys_.size()], clear, client, original_destination),
                                  token.subspan(kClearBytes));
}

HelloProof make_hello_proof(Provider& provider, const Secret& key, ConnectionId original_destination) {
    std::array<std::byte, sizeof(std::uint64_t)> input{};
    put_big_endian(std::span<std::byte>(input), original_destination.value);
    const Secret full = provider.hmac_sha256(key, input);
    HelloProof proof{};
    std::copy_n(full.begin(), proof.size(), proof.begin());
    return proof;
}

HelloProofs::~HelloProofs() { wipe(key_); }

bool HelloProofs::check(ConnectionId original_destination, std::span<const std::byte> token) const {
    if (token.size() != kHelloProofBytes || used_.contains(original_destination)) return false;
    return equal_in_constant_time(make_hello_proof(provider_, key_, original_destination), token);
}

void HelloProofs::remember(ConnectionId original_destination) {
    if (!used_.insert(original_destination).second) return;
    order_.push_back(original_destination);
    if (order_.size() <= kRemembered) return;
    used_.erase(order_.front());
    order_.pop_front();
}

ResetToken make_reset_token(Provider& provider, const Secret& key, ConnectionId server_id) {
    std::array<std::byte, sizeof(std::uint64_t)> input{};
    put_big_endian(std::span<std::byte>(input), server_id.value);
    const Secret full = provider.hmac_sha256(key, input);
    ResetToken token{};
    std::copy_n(full.begin(), token.size(), token.begin());
    return token;
}

}  // namespace udtx::crypto
