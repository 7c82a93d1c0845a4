// One stream of a session. See udtx/session.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "udtx/callback.hpp"
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
    std::vector<std::byte> bytes;
};

/// Bytes between the two ends. An *ordered* stream carries them in both directions, each in the order of writing. A
/// *placed* stream carries them from its opener only, and hands over pieces as they come, each byte once, with its
/// offset: nothing waits for a piece that was lost.
///
/// Copies refer to the same stream. When the last copy goes, our direction ends as by finish() without the wait, and
/// what the peer still sends on it is given up. All calls are thread-safe; one reader and one writer at a time make
/// sense. A call that is not of the stream's kind, or of a stream that was default-constructed or moved from, gives
/// invalid_argument. Once the session has ended they give its end.
///
/// Calls that block take a time-out; after `timeout` and `cancelled` they may be repeated. The calls that begin with
/// `start_` do not block, see Callback; buffers stay with the caller, who keeps them until he is called back.
class UDTX_EXPORT Stream {
  public:
    Stream() noexcept = default;  ///< no stream
    [[nodiscard]] StreamId id() const noexcept;
    [[nodiscard]] StreamKind kind() const noexcept { return id().kind(); }

    // --- our direction
    /// Takes all bytes; blocks while the send buffer is full. After a time-out or cancel() some may have been taken:
    /// where that matters, use write_some(). interrupted: the peer wants no more (Error::application_code).
    Result<void> write(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Takes at least one byte, as soon as there is room, and says how many.
    Result<std::size_t> write_some(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Ends our direction and waits until the peer's transport has acknowledged all of it. May be repeated.
    Result<void> finish(std::chrono::milliseconds timeout = kForever);
    /// Gives our direction up: what was not acknowledged is not sent any more. The peer's reads fail with `interrupted`
    /// and this code (at most 2^62 - 1) once they come to it. Does not block; no effect once all is acknowledged.
    void reset(std::uint64_t code);

    // --- the peer's direction
    /// Ordered: at least one byte, or 0 at the end of the stream; blocks until then. interrupted: the peer gave it up
    /// (Error::application_code).
    Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Placed: the next piece that has come, at most 512 KiB; nullopt when every byte of the stream was handed over.
    Result<std::optional<Piece>> read_piece(std::chrono::milliseconds timeout = kForever);
    /// Wants no more of it: what comes is dropped, and the peer's writes fail with `interrupted` and this code (at most
    /// 2^62 - 1). Does not block.
    void stop_receiving(std::uint64_t code);

    // --- without blocking
    CallId start_write_some(std::span<const std::byte> bytes, Callback<std::size_t> done);
    CallId start_write(std::span<const std::byte> bytes, Callback<std::size_t> done);
    CallId start_finish(Callback<void> done);
    CallId start_read(std::span<std::byte> out, Callback<std::size_t> done);
    CallId start_read_piece(Callback<std::optional<Piece>> done);

    /// Ends the calls on this stream that wait, in other threads or for a callback, with `cancelled`. The stream goes
    /// on; a call that begins afterwards waits anew.
    void cancel();
    /// The same for one call that was started; nothing if it has called back.
    void cancel(CallId call);

  private:
    friend class Session;
    explicit Stream(std::shared_ptr<io::StreamHandle> handle) : handle_(std::move(handle)) {}
    std::shared_ptr<io::StreamHandle> handle_;
};

}  // namespace udtx
