// Cost of sealing and opening one packet, for each cipher and datagram size.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "crypto/packet_protection.hpp"
#include "openssl/provider.hpp"
#include "wire/header.hpp"

namespace udtx::bench {
namespace {

struct Key {
    explicit Key(const benchmark::State& state)
        : key(crypto::derive_packet_key(provider, static_cast<crypto::Cipher>(state.range(0)), crypto::Secret{})),
          packet(static_cast<std::size_t>(state.range(1))) {}
    [[nodiscard]] crypto::Nonce nonce() const { return crypto::make_nonce(key.iv, PathId{0}, number); }
    void seal() { key.aead->seal(nonce(), packet, wire::kShortHeaderBytes); }

    openssl::OpensslProvider provider;
    crypto::PacketKey key;
    std::vector<std::byte> packet;
    PacketNumber number = 0;
};

void name_cipher(benchmark::State& state) {
    state.SetLabel(std::string(crypto::to_string(static_cast<crypto::Cipher>(state.range(0)))));
    state.SetBytesProcessed(state.iterations() * state.range(1));
}

void seal(benchmark::State& state) {
    Key key(state);
    for ([[maybe_unused]] auto _ : state) {
        key.seal();
        ++key.number;
    }
    name_cipher(state);
}

/// Opening in place overwrites the packet, so that each iteration opens a copy. The benchmark `copy` shows the copy's
/// cost.
void open(benchmark::State& state) {
    Key key(state);
    key.seal();
    std::vector<std::byte> packet(key.packet.size());
    for ([[maybe_unused]] auto _ : state) {
        std::copy(key.packet.begin(), key.packet.end(), packet.begin());
        if (!key.key.aead->open(key.nonce(), packet, wire::kShortHeaderBytes)) std::abort();
    }
    name_cipher(state);
}

void copy(benchmark::State& state) {
    const std::vector<std::byte> from(static_cast<std::size_t>(state.range(0)));
    std::vector<std::byte> to(from.size());
    for ([[maybe_unused]] auto _ : state) {
        std::copy(from.begin(), from.end(), to.begin());
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

const std::vector<std::int64_t> kCiphers{static_cast<std::int64_t>(crypto::Cipher::aes_256_gcm),
                                         static_cast<std::int64_t>(crypto::Cipher::chacha20_poly1305)};
const std::vector<std::int64_t> kSizes{1472, 8972, 65000};

BENCHMARK(seal)->ArgsProduct({kCiphers, kSizes});
BENCHMARK(open)->ArgsProduct({kCiphers, kSizes});
BENCHMARK(copy)->ArgsProduct({kSizes});

}  // namespace
}  // namespace udtx::bench
