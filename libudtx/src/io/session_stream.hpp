// A stream between the user's threads and the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "stream/blocks.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/error.hpp"
#include "udtx/ids.hpp"
#include "udtx/stream.hpp"

namespace udtx::io {

/// Size of each queue between the user's threads and the connection, for each ordered stream and direction.
inline constexpr std::size_t kQueueBytes = 4U << 20U;
/// When a queue falls to this size, the thread that fills it is woken.
inline constexpr std::size_t kRefillBytes = kQueueBytes / 2;
/// Most bytes that one read copies, because the protocol thread waits meanwhile.
inline constexpr std::size_t kCopyBytes = 256U << 10U;

/// SessionState's mutex guards it. The session shares it with the user's handles as long as bytes may be transferred.
struct SessionStream {
    explicit SessionStream(StreamId stream) : id(stream) {}

    StreamId id;

    stream::BlockFiller written;  // copies of bytes that users keep
    std::deque<Chunk> outgoing;
    std::size_t outgoing_bytes = 0;
    bool finish_wanted = false;
    bool finish_passed = false;  // the end was passed to the connection
    bool delivered = false;
    std::optional<Error> write_error;
    std::optional<std::uint64_t> reset_due;  // code of a reset to pass to the connection

    // For ordered streams.
    std::deque<Chunk> incoming;
    std::size_t incoming_bytes = 0;
    bool readable = false;  // the connection has more bytes

    // For placed streams.
    stream::BlockFiller placed;
    std::deque<Piece> pieces;
    std::uint64_t release_due = 0;  // bytes read, for which the connection may give credit

    bool ended = false;  // the connection has handed over all bytes
    std::optional<Error> read_error;
    std::optional<std::uint64_t> stop_due;  // code of a stop to pass to the connection

    // False: the peer opened it and the user has not taken it yet; its bytes stay under flow control.
    bool accepted = true;
    bool abandoned = false;  // no handle exists any more

    void drop_outgoing() {
        outgoing.clear();
        outgoing_bytes = 0;
    }
    /// True if the connection has no more part in this stream.
    [[nodiscard]] bool over() const noexcept {
        const bool sent = (delivered || write_error) && !reset_due;
        const bool received = (ended || read_error) && !stop_due && release_due == 0 && pieces.empty();
        return sent && received;
    }
};

}  // namespace udtx::io
