// How a connection hands over the bytes of streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "udtx/core/chunk.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"

namespace udtx::proto {

/// What Connection::read() gives.
struct ReadResult {
    std::size_t bytes = 0;  ///< copied
    bool end = false;       ///< the end of the stream was reached
};

/// What Connection::read_chunk() gives.
struct ReadChunk {
    Chunk chunk;       ///< the next bytes
    bool end = false;  ///< the end of the stream was reached
};

/// Takes pieces of placed streams as soon as their packet is opened. Each byte of a stream is handed over once.
class UDTX_EXPORT PlacedSink {
  public:
    virtual ~PlacedSink() = default;
    /// A piece. `bytes` are valid during the call.
    virtual void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace udtx::proto
