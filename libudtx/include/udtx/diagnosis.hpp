// Measures what this host gives to transfers, for a program that says what slows them down.
#pragma once

#include <cstddef>
#include <string>

#include "udtx/export.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// How fast one processor encrypts packets of 1,400 bytes.
struct CipherSpeeds {
    Rate aes_256_gcm;               ///< by AES-256-GCM
    Rate chacha20_poly1305;         ///< by ChaCha20-Poly1305
    bool aes_instructions = false;  ///< the processor has instructions for AES and for the multiplication of GCM
};

/// Measures both ciphers in turn, for about `duration` together. Blocks.
[[nodiscard]] UDTX_EXPORT CipherSpeeds measure_ciphers(Duration duration);

/// What the kernel gives to the UDP socket of a connection.
struct UdpSupport {
    std::size_t receive_buffer = 0;  ///< bytes
    std::size_t send_buffer = 0;     ///< bytes
    std::string
        buffer_commands{};  ///< for root: commands that allow the buffers that the library asks for; empty: it has them
    bool segmentation_offload = false;  ///< GSO: one call sends many datagrams
    bool receive_offload = false;       ///< GRO: one call receives many datagrams
};

/// Tries it with a socket on the loopback interface. network: there is no socket.
[[nodiscard]] UDTX_EXPORT Result<UdpSupport> examine_udp();

}  // namespace udtx
