// What this host gives to transfers, for a program that tells its user what slows them down.
#pragma once

#include <cstddef>
#include <string>

#include "udtx/export.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// What one processor encrypts, in packets of 1,400 bytes.
struct CipherSpeeds {
    Rate aes_256_gcm;               ///< by AES-256-GCM
    Rate chacha20_poly1305;         ///< by ChaCha20-Poly1305
    bool aes_instructions = false;  ///< the processor has some for AES and for GCM's multiplication
};

/// The ciphers take turns for about `duration` in all.
[[nodiscard]] UDTX_EXPORT CipherSpeeds measure_ciphers(Duration duration);

/// What the kernel gives to the UDP socket of a connection.
struct UdpSupport {
    std::size_t receive_buffer = 0;     ///< bytes
    std::size_t send_buffer = 0;        ///< bytes
    std::string buffer_commands{};      ///< for the superuser: what lets them be as large as asked for; empty: they are
    bool segmentation_offload = false;  ///< GSO: one call sends many datagrams
    bool receive_offload = false;       ///< GRO: one call receives many
};

/// Opens a socket on the loopback interface to see. network: none is to be had.
[[nodiscard]] UDTX_EXPORT Result<UdpSupport> examine_udp();

}  // namespace udtx
