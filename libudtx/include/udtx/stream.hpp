// One stream of a session, see udtx/session.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "udtx/callback.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx {

namespace io {
class StreamHandle;
}

/// A part of a placed stream.
struct Piece {
    std::uint64_t offset = 0;  ///< in the stream, bytes
    Chunk data;                ///< at most 64 KiB; keeps a block of 64 KiB, so copy what is kept for long
};

/// Bytes between the two ends of a session. An *ordered* stream carries bytes both ways and delivers them in order. A
/// *placed* stream carries bytes from its opener and delivers pieces with their offset, as they come, each byte once:
/// no piece waits for one that was lost.
///
/// Copies mean the same stream. When the last copy goes, the direction of this end ends as by finish() without the
/// wait, and what the peer still sends is dropped. Any thread may call any function; have one reader and one writer at
/// a time. Calls of the other kind of stream fail with invalid_argument, and so do calls of a stream that was
/// default-constructed or moved from. After the end of the session calls fail with its error.
///
/// Calls that block take a time-out; after `timeout` and `cancelled` they may be repeated. Calls that begin with
/// `start_` do not block, see Callback; the caller keeps their buffers until they call back, and they keep the stream
/// open so long.
class UDTX_EXPORT Stream {
  public:
    Stream() noexcept = default;  ///< No stream.
    /// Its id.
    [[nodiscard]] StreamId id() const noexcept;
    /// How it delivers.
    [[nodiscard]] StreamKind kind() const noexcept { return id().kind(); }

    // --- the direction of this end
    /// Writes all bytes; blocks while the send buffer is full (TransportConfig::send_buffer). After `timeout` and
    /// `cancelled` a part may have been written: where that matters, use write_some(). interrupted: the peer wants no
    /// more (Error::application_code).
    Result<void> write(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Writes at least one byte; blocks until there is room. Returns how many.
    Result<std::size_t> write_some(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Writes a chunk without copying it: its bytes must not change any more. Blocks until there is room, then takes
    /// all of it.
    Result<void> write_chunk(Chunk chunk, std::chrono::milliseconds timeout = kForever);
    /// Ends the direction of this end, and waits until the transport of the peer has acknowledged all of it. May be
    /// repeated.
    Result<void> finish(std::chrono::milliseconds timeout = kForever);
    /// Gives up the direction of this end: bytes that are not acknowledged are not sent again. Reads of the peer fail
    /// with `interrupted` and this code (at most 2^62 - 1). Does not block. No effect once all is acknowledged.
    void reset(std::uint64_t code);

    // --- the direction of the peer
    /// Ordered: blocks for at least one byte, and returns how many; 0: the end of the stream. interrupted: the peer
    /// gave it up (Error::application_code).
    Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Ordered: blocks until `out` is full, and returns its size; fewer bytes: the stream has ended. After `timeout`
    /// and `cancelled` a part may have been read: where that matters, use read().
    Result<std::size_t> read_full(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Ordered: the next bytes without copying them, at most 64 KiB; empty: the end of the stream. However few, they
    /// keep a block of 64 KiB: copy what is kept for long.
    Result<Chunk> read_chunk(std::chrono::milliseconds timeout = kForever);
    /// Placed: the next piece that has come; nullopt: every byte of the stream was delivered.
    Result<std::optional<Piece>> read_piece(std::chrono::milliseconds timeout = kForever);
    /// Wants no more: what comes is dropped, and writes of the peer fail with `interrupted` and this code (at most
    /// 2^62 - 1). Does not block.
    void stop_receiving(std::uint64_t code);

    // --- without blocking
    /// write_some() without blocking.
    CallId start_write_some(std::span<const std::byte> bytes, Callback<std::size_t> done);
    /// write() without blocking. The result is the number of bytes.
    CallId start_write(std::span<const std::byte> bytes, Callback<std::size_t> done);
    /// write_chunk() without blocking.
    CallId start_write_chunk(Chunk chunk, Callback<void> done);
    /// finish() without blocking.
    CallId start_finish(Callback<void> done);
    /// read() without blocking.
    CallId start_read(std::span<std::byte> out, Callback<std::size_t> done);
    /// read_chunk() without blocking.
    CallId start_read_chunk(Callback<Chunk> done);
    /// read_piece() without blocking.
    CallId start_read_piece(Callback<std::optional<Piece>> done);

    /// Ends all waiting calls of this stream with `cancelled`, those with a callback as well. The stream goes on.
    void cancel();
    /// Ends one started call with `cancelled`. No effect if it has called back.
    void cancel(CallId call);

  private:
    friend class Session;
    explicit Stream(std::shared_ptr<io::StreamHandle> handle) : handle_(std::move(handle)) {}
    std::shared_ptr<io::StreamHandle> handle_;
};

}  // namespace udtx
