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

/// Of each ordered stream and direction, between the user's threads and the connection.
inline constexpr std::size_t kQueueBytes = 4U << 20U;
/// Where so few wait, whoever fills the queue is woken.
inline constexpr std::size_t kRefillBytes = kQueueBytes / 2;
/// Bytes that one read copies at most: the protocol thread waits meanwhile.
inline constexpr std::size_t kCopyBytes = 256U << 10U;

/// Guarded by SessionState's mutex. Shared by the session (while bytes may move) and the user's handles.
struct SessionStream {
    explicit SessionStream(StreamId stream) : id(stream) {}

    StreamId id;

    stream::BlockFiller written;  // copies of what users keep
    std::deque<Chunk> outgoing;
    std::size_t outgoing_bytes = 0;
    bool finish_wanted = false;
    bool finish_passed = false;  // to the connection
    bool delivered = false;
    std::optional<Error> write_error;
    std::optional<std::uint64_t> reset_due;  // its code, to be passed to the connection

    // Ordered.
    std::deque<Chunk> incoming;
    std::size_t incoming_bytes = 0;
    bool readable = false;  // the connection has more

    // Placed.
    stream::BlockFiller placed;
    std::deque<Piece> pieces;
    std::uint64_t release_due = 0;  // bytes read that the connection may give credit for

    bool ended = false;  // all that will come has been handed over by the connection
    std::optional<Error> read_error;
    std::optional<std::uint64_t> stop_due;  // its code, to be passed to the connection

    bool accepted = true;    // false: opened by the peer, not yet taken: its bytes stay under flow control
    bool abandoned = false;  // no handle is left

    void drop_outgoing() {
        outgoing.clear();
        outgoing_bytes = 0;
    }
    /// Nothing can happen on it any more that the connection has a part in.
    [[nodiscard]] bool over() const noexcept {
        const bool sent = (delivered || write_error) && !reset_due;
        const bool received = (ended || read_error) && !stop_due && release_due == 0 && pieces.empty();
        return sent && received;
    }
};

}  // namespace udtx::io
