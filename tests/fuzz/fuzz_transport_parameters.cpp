// Transport parameters in the handshake: what decodes is within its bounds and encodes to the same. The input is read
// as the parameters of one end. It is also cut in two as those of both ends, which then choose a cipher.
#include <algorithm>
#include <vector>

#include "fuzz/require.hpp"
#include "proto/transport_parameters.hpp"
#include "wire/header.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {1, "decoded parameters are the same after encoding and decoding again"}};

using namespace udtx;
using namespace udtx::proto;
using udtx::fuzz::require;

namespace {

bool same(const TransportParameters& a, const TransportParameters& b) {
    return a.idle_timeout_ms == b.idle_timeout_ms && a.connection_window == b.connection_window &&
           a.stream_window == b.stream_window && a.max_streams == b.max_streams && a.max_datagram == b.max_datagram &&
           a.aes_speed == b.aes_speed && a.chacha_speed == b.chacha_speed && a.cipher == b.cipher &&
           a.receive_rate == b.receive_rate && a.max_paths == b.max_paths && a.reset_token == b.reset_token &&
           a.release == b.release && a.versions == b.versions;
}

void check(std::span<const std::byte> input) {
    const auto parameters = decode_parameters(input);
    if (!parameters) {
        const ErrorCode code = parameters.error().code;
        return require(code == ErrorCode::malformed || code == ErrorCode::protocol, "a bad one is told as such");
    }
    require(parameters->max_datagram >= wire::kMinInitialDatagram, "datagrams have 1,200 bytes at least");
    const auto again = decode_parameters(encode(*parameters));
    require(again && same(*parameters, *again), "encoded again they are the same");
}

void check_choice(std::span<const std::byte> input) {
    const std::size_t half = input.size() / 2;
    const auto one = decode_parameters(input.first(half));
    const auto other = decode_parameters(input.subspan(half));
    if (!one || !other) return;
    const auto cipher = choose_cipher(*one, *other);
    const auto mirrored = choose_cipher(*other, *one);
    require(cipher.ok() == mirrored.ok(), "both ends choose or neither does");
    if (!cipher) return;
    require(*cipher == *mirrored, "both ends choose the same");
    const auto offers = [&](const TransportParameters& p) {
        return (*cipher == crypto::Cipher::aes_256_gcm ? p.aes_speed : p.chacha_speed) > 0;
    };
    require(offers(*one) && offers(*other), "what both have");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    check(input);
    check_choice(input);
    return 0;
}
