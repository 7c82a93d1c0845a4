// How a connection passes the bytes of streams to its program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "udtx/core/chunk.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"

namespace udtx::proto {

/// The result of Connection::read().
struct ReadResult {
    std::size_t bytes = 0;  ///< number of bytes copied
    bool end = false;       ///< true: the end of the stream was reached
};

/// The result of Connection::read_chunk().
struct ReadChunk {
    Chunk chunk;       ///< the next bytes
    bool end = false;  ///< true: the end of the stream was reached
};

/// Receives pieces of placed streams as soon as their packet is decrypted. It gets each byte of a stream once.
class UDTX_EXPORT PlacedSink {
  public:
    virtual ~PlacedSink() = default;
    /// Receives one piece. `bytes` are valid only during the call.
    virtual void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace udtx::proto
