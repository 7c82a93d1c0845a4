// How the bytes of streams are handed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"

namespace udtx::proto {

/// Of an ordered stream.
struct ReadResult {
    std::size_t bytes = 0;
    bool end = false;  ///< the stream's end was reached
};

/// Takes pieces of placed streams at the moment their packet is opened; the bytes are only valid during the call.
/// Each byte of a stream is handed over once.
class UDTX_EXPORT PlacedSink {
  public:
    virtual ~PlacedSink() = default;
    virtual void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace udtx::proto
