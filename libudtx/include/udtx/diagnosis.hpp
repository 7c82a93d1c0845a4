// Measures what this host offers to transfers, so that a program can report the bottleneck.
#pragma once

#include <cstddef>
#include <string>

#include "udtx/export.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// How fast one processor encrypts packets of 1,400 bytes.
struct CipherSpeeds {
    Rate aes_256_gcm;               ///< rate with AES-256-GCM
    Rate chacha20_poly1305;         ///< rate with ChaCha20-Poly1305
    bool aes_instructions = false;  ///< true: the processor has instructions for AES and for GCM multiplication
};

/// Measures both ciphers one after the other, about `duration` in total. Blocks.
[[nodiscard]] UDTX_EXPORT CipherSpeeds measure_ciphers(Duration duration);

/// What the kernel offers to the UDP socket of a connection.
struct UdpSupport {
    std::size_t receive_buffer = 0;  ///< size of the receive buffer, bytes
    std::size_t send_buffer = 0;     ///< size of the send buffer, bytes
    /// Commands for root that allow the buffer sizes that the library requests; empty: the sizes are granted.
    std::string buffer_commands{};
    bool segmentation_offload = false;  ///< GSO: one system call sends many datagrams
    bool receive_offload = false;       ///< GRO: one system call receives many datagrams
};

/// Measures with a socket on the loopback interface. network: no socket is available.
[[nodiscard]] UDTX_EXPORT Result<UdpSupport> examine_udp();

}  // namespace udtx
