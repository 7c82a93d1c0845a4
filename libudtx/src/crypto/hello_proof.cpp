#include "crypto/hello_proof.hpp"

#include <algorithm>
#include <cstdint>

#include "crypto/bytes.hpp"
#include "crypto/wipe.hpp"

namespace udtx::crypto {

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

}  // namespace udtx::crypto
