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
    std::uint64_t offset = 0;  ///< offset in the stream, bytes
    Chunk data;                ///< at most 64 KiB; holds a block of 64 KiB, so copy data that you keep for long
};

/// A byte stream between the two ends of a session. An *ordered* stream carries bytes both ways and delivers them in
/// order. A *placed* stream carries bytes only from the end that opened it. It delivers pieces with their offset when
/// they arrive, each byte once, so no piece waits for a lost one.
///
/// Copies refer to the same stream. When the last copy is destroyed, the sending direction ends as by finish(), without
/// waiting, and further data from the peer is dropped. Any thread may call any function, but only one thread may read
/// and one may write at a time. A call that does not fit the kind of the stream fails with invalid_argument, and so
/// does a call on a default-constructed or moved-from Stream. After the end of the session calls fail with the
/// session's error.
///
/// Blocking calls take a time-out; after `timeout` or `cancelled` they may be repeated. Calls whose names start with
/// `start_` do not block, see Callback. The caller keeps their buffers valid until the callback is called. They keep
/// the stream open until then.
class UDTX_EXPORT Stream {
  public:
    Stream() noexcept = default;  ///< An empty stream.
    /// Id of the stream.
    [[nodiscard]] StreamId id() const noexcept;
    /// How the stream delivers bytes.
    [[nodiscard]] StreamKind kind() const noexcept { return id().kind(); }

    // --- the direction of this end
    /// Writes all bytes; blocks while the send buffer is full (TransportConfig::send_buffer). After `timeout` or
    /// `cancelled` a part of the bytes may have been written: use write_some() to know how many. interrupted: the peer
    /// has called stop_receiving() (Error::application_code), or has destroyed its last copy of the stream (code 0).
    Result<void> write(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Writes at least one byte; blocks until the send buffer has room. Returns the number of bytes written.
    Result<std::size_t> write_some(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Writes a chunk without copying it, so its bytes must not change afterwards. Blocks until the send buffer has
    /// room, then writes the whole chunk.
    Result<void> write_chunk(Chunk chunk, std::chrono::milliseconds timeout = kForever);
    /// Ends the sending direction, and waits until the peer's transport has acknowledged all bytes. May be repeated.
    Result<void> finish(std::chrono::milliseconds timeout = kForever);
    /// Aborts the sending direction: unacknowledged bytes are not sent again. Reads of the peer fail with `interrupted`
    /// and this code (at most 2^62 - 1). Does not block. No effect once all bytes are acknowledged.
    void reset(std::uint64_t code);

    // --- the direction of the peer
    /// Ordered streams: blocks until at least one byte has arrived, and returns the number of bytes; 0: the end of the
    /// stream. interrupted: the peer has called reset() (Error::application_code).
    Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Ordered streams: blocks until `out` is full, and returns its size. Fewer bytes mean that the stream has ended.
    /// After `timeout` or `cancelled` a part may have been read: use read() to know how much.
    Result<std::size_t> read_full(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Ordered streams: returns the next bytes without copying them, at most 64 KiB; empty: the end of the stream. Even
    /// a small chunk holds a block of 64 KiB, so copy data that you keep for long.
    Result<Chunk> read_chunk(std::chrono::milliseconds timeout = kForever);
    /// Placed streams: returns the next piece that has arrived; nullopt: all bytes of the stream were delivered.
    Result<std::optional<Piece>> read_piece(std::chrono::milliseconds timeout = kForever);
    /// Ends the receiving direction: data that arrives is dropped. Writes of the peer fail with `interrupted` and this
    /// code (at most 2^62 - 1). Does not block.
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

    /// Ends all waiting calls of this stream with `cancelled`, including calls with a callback. The stream stays open.
    void cancel();
    /// Ends one started call with `cancelled`. No effect after its callback was called.
    void cancel(CallId call);

  private:
    friend class Session;
    explicit Stream(std::shared_ptr<io::StreamHandle> handle) : handle_(std::move(handle)) {}
    std::shared_ptr<io::StreamHandle> handle_;
};

}  // namespace udtx
