// What each end sends to the other inside the TLS handshake. Layout: docs/inside/wire-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "crypto/proofs.hpp"
#include "udtx/config.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

struct TransportParameters {
    std::uint64_t idle_timeout_ms = 0;
    std::uint64_t connection_window = 0;  ///< initial MAX_DATA
    std::uint64_t stream_window = 0;      ///< initial MAX_STREAM_DATA of every stream
    std::uint64_t max_streams = 0;        ///< initial MAX_STREAMS
    std::uint64_t max_datagram = 0;       ///< largest UDP payload that this end accepts
    std::uint64_t aes_speed = 0;          ///< AEAD speed on this machine, MB/s; 0 = not offered
    std::uint64_t chacha_speed = 0;
    std::uint64_t cipher = 0;        ///< server only: the chosen cipher (crypto::Cipher)
    std::uint64_t receive_rate = 0;  ///< bits/s that the peer may send, with IP and UDP headers; 0 = any
    std::uint64_t max_paths = 0;     ///< paths that may be open at once; 0 and 1: only that of the handshake
    std::uint64_t release = 0;       ///< see base/release.hpp
    std::optional<crypto::ResetToken> reset_token;  ///< server only
    std::vector<std::uint16_t> tcp_ports;           ///< server only: where it listens on TCP, too
    std::vector<std::uint32_t> versions;            ///< of the wire format that this end speaks, the newest first

    [[nodiscard]] static TransportParameters from(const TransportConfig& config, double aes_speed, double chacha_speed);
};

[[nodiscard]] std::vector<std::byte> encode(const TransportParameters& parameters);
/// Ids from here on must not be skipped. Their values begin with the release that knows them.
inline constexpr std::uint64_t kMandatoryParameters = 1U << 14U;

/// malformed: truncated or repeated. protocol: a datagram size below 1,200, or an unknown mandatory parameter. Other
/// unknown parameters are skipped.
[[nodiscard]] Result<TransportParameters> decode_parameters(std::span<const std::byte> bytes);

/// The newest version that this end and one of `theirs` have in common.
[[nodiscard]] std::optional<std::uint32_t> best_common_version(std::span<const std::uint32_t> theirs);

/// The cipher whose slower end is fastest. An error if there is no cipher that both offer.
[[nodiscard]] Result<crypto::Cipher> choose_cipher(const TransportParameters& a, const TransportParameters& b);

}  // namespace udtx::proto
