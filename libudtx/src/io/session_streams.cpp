// The streams of a session: bytes between the queues of user threads and the connection.
#include <algorithm>
#include <cstring>
#include <utility>

#include "io/session_state.hpp"
#include "udtx/core/connection.hpp"

namespace udtx::io {

using Reading = SessionStream::Reading;
using Writing = SessionStream::Writing;

namespace {

/// When a queue falls to this size, the thread that fills it is woken.
constexpr std::size_t kRefillBytes = kQueueBytes / 2;
/// Most bytes that one read copies, because the protocol thread waits meanwhile.
constexpr std::size_t kCopyBytes = 256U << 10U;

}  // namespace

// --- user threads

std::optional<Error> SessionState::why_not_written(const SessionStream& stream) const {
    if (over()) return end_;
    if (stream.writing == Writing::failed) return stream.write_error;
    if (stream.writing != Writing::open) return Error{ErrorCode::invalid_argument, "write after finish"};
    return std::nullopt;
}

void SessionState::put(SessionStream& stream, Chunk chunk) {
    // If bytes are already queued, the protocol thread was woken, or checks again when the connection takes more.
    if (stream.outgoing.empty()) wake_due_ = true;
    const std::size_t size = chunk.size();
    if (stream.outgoing.empty() || !stream.outgoing.back().append(chunk)) stream.outgoing.push_back(std::move(chunk));
    stream.outgoing_bytes += size;
}

Attempted<std::size_t> SessionState::try_write(const StreamPtr& stream, std::span<const std::byte> bytes,
                                               std::size_t& most) {
    if (const auto why = why_not_written(*stream)) return Result<std::size_t>(*why);
    if (bytes.empty()) return Result<std::size_t>(std::size_t{0});
    if (stream->outgoing_bytes >= std::exchange(most, kRefillBytes)) return std::nullopt;
    Chunk copy = stream->written.copy(bytes);
    const std::size_t size = copy.size();
    put(*stream, std::move(copy));
    return Result<std::size_t>(size);
}

Attempted<std::size_t> SessionState::try_write_all(const StreamPtr& stream, std::span<const std::byte> bytes,
                                                   std::size_t& most, std::size_t& taken) {
    for (;;) {
        auto result = try_write(stream, bytes.subspan(taken), most);
        if (!result || !*result) return result;
        most = kQueueBytes;
        taken += **result;
        if (taken == bytes.size()) return Result<std::size_t>(taken);
    }
}

Attempted<void> SessionState::try_write_chunk(const StreamPtr& stream, Chunk& chunk, std::size_t& most) {
    if (const auto why = why_not_written(*stream)) return Result<void>(*why);
    if (chunk.empty()) return Result<void>();
    if (stream->outgoing_bytes >= std::exchange(most, kRefillBytes)) return std::nullopt;
    put(*stream, std::move(chunk));
    return Result<void>();
}

std::optional<Error> SessionState::why_not_read(const SessionStream& stream) const {
    if (life_ == Life::closed) return closed_here();
    if (stream.reading == Reading::failed) return stream.read_error;
    return std::nullopt;
}

void SessionState::note_read(SessionStream& stream, std::size_t bytes) {
    stream.incoming_bytes -= bytes;
    if (stream.readable && !over() && stream.incoming_bytes <= kRefillBytes) wake_due_ = true;
}

Attempted<std::size_t> SessionState::try_read(const StreamPtr& stream, std::span<std::byte> out) {
    if (out.empty()) return Result<std::size_t>(std::size_t{0});
    if (const auto why = why_not_read(*stream)) return Result<std::size_t>(*why);
    std::size_t count = 0;
    while (!stream->incoming.empty() && count < std::min(out.size(), kCopyBytes)) {
        Chunk& first = stream->incoming.front();
        const std::size_t size = std::min(out.size() - count, first.size());
        std::memcpy(out.data() + count, first.bytes().data(), size);
        count += size;
        if (size < first.size()) {
            first = first.part(size, first.size());
        } else {
            stream->incoming.pop_front();
        }
    }
    if (count > 0) {
        note_read(*stream, count);
        return Result<std::size_t>(count);
    }
    if (stream->reading == Reading::ended) return Result<std::size_t>(std::size_t{0});
    if (over()) return Result<std::size_t>(end_);
    return std::nullopt;
}

Attempted<Chunk> SessionState::try_read_chunk(const StreamPtr& stream) {
    if (const auto why = why_not_read(*stream)) return Result<Chunk>(*why);
    if (!stream->incoming.empty()) {
        Chunk first = std::move(stream->incoming.front());
        stream->incoming.pop_front();
        note_read(*stream, first.size());
        return Result<Chunk>(std::move(first));
    }
    if (stream->reading == Reading::ended) return Result<Chunk>(Chunk());
    if (over()) return Result<Chunk>(end_);
    return std::nullopt;
}

Attempted<std::optional<Piece>> SessionState::try_read_piece(const StreamPtr& stream) {
    using Answer = Result<std::optional<Piece>>;
    if (const auto why = why_not_read(*stream)) return Answer(*why);
    if (!stream->pieces.empty()) {
        Piece piece = std::move(stream->pieces.front());
        stream->pieces.pop_front();
        stream->release_due += piece.data.size();
        wake_due_ = true;
        return Answer(std::optional<Piece>(std::move(piece)));
    }
    if (stream->reading == Reading::ended) return Answer(std::optional<Piece>());
    if (over()) return Answer(end_);
    return std::nullopt;
}

// --- protocol thread

SessionState::StreamPtr SessionState::find(StreamId id) const {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second;
}

SessionState::StreamPtr SessionState::add(StreamId id) {
    auto stream = std::make_shared<SessionStream>(id);
    streams_[id] = stream;
    return stream;
}

/// Afterwards only the user's handles own the stream.
void SessionState::forget_if_over(const SessionStream& stream) {
    const StreamId id = stream.id;
    if (stream.over()) streams_.erase(id);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamOpened& event) {
    StreamPtr stream = find(event.id);
    if (!stream) stream = add(event.id);
    stream->accepted = false;
    if (event.id.kind() == StreamKind::ordered) {
        stream->readable = true;
    } else {
        stream->fail_writing({ErrorCode::invalid_argument, "only the opener of an unordered stream can send on it"});
    }
    if (life_ != Life::closed) acceptable_.push_back(std::move(stream));
}

void SessionState::on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    bytes_came_ = true;
    const Lock lock(mutex_);
    StreamPtr stream = find(id);
    if (!stream) {
        // The first bytes arrive before the event that the stream was opened.
        stream = add(id);
        stream->accepted = false;
    }
    if (stream->abandoned || stream->reading == Reading::failed) return;
    auto& pieces = stream->pieces;
    while (!bytes.empty()) {
        Chunk part = stream->unordered.copy(bytes);
        const std::size_t size = part.size();
        const bool next = !pieces.empty() && pieces.back().offset + pieces.back().data.size() == offset;
        if (!next || !pieces.back().data.append(part)) pieces.push_back({offset, std::move(part)});
        offset += size;
        bytes = bytes.subspan(size);
    }
}

void SessionState::serve(proto::Connection& connection, SessionStream& stream) {
    pump_out(connection, stream);
    if (stream.stop_due) {
        connection.stop_receiving(stream.id, *std::exchange(stream.stop_due, std::nullopt));
        stream.readable = false;
        stream.end_reading();
        stream.release_due = 0;
        stream.pieces.clear();
    }
    if (stream.release_due > 0) connection.release_pieces(stream.id, std::exchange(stream.release_due, 0));
    pump_in(connection, stream, kQueueBytes);
    forget_if_over(stream);
}

void SessionState::pump_out(proto::Connection& connection, SessionStream& stream) {
    if (stream.reset_due) connection.reset_stream(stream.id, *std::exchange(stream.reset_due, std::nullopt));
    if (stream.writing > Writing::finishing) return;
    while (!stream.outgoing.empty() && connection.write_capacity(stream.id) > 0) {
        Chunk chunk = std::move(stream.outgoing.front());
        stream.outgoing.pop_front();
        stream.outgoing_bytes -= chunk.size();
        if (const auto written = connection.write(stream.id, std::move(chunk)); !written) {
            return stream.fail_writing(written.error());
        }
    }
    if (stream.writing != Writing::finishing || !stream.outgoing.empty()) return;
    stream.writing.enter(Writing::finished);
    stream.written = {};
    if (const auto finished = connection.finish(stream.id); !finished) stream.fail_writing(finished.error());
}

void SessionState::pump_in(proto::Connection& connection, SessionStream& stream, std::size_t most) {
    if (!stream.accepted || stream.id.kind() != StreamKind::ordered) return;
    while (stream.readable && stream.reading != Reading::ended && stream.incoming_bytes < most) {
        auto got = connection.read_chunk(stream.id);
        if (got.end) stream.end_reading();
        stream.readable = !got.chunk.empty();
        if (!stream.readable) return;
        stream.incoming_bytes += got.chunk.size();
        if (stream.incoming.empty() || !stream.incoming.back().append(got.chunk)) {
            stream.incoming.push_back(std::move(got.chunk));
        }
    }
}

void SessionState::handle(proto::Connection& connection, const proto::event::Readable& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->readable = true;
    pump_in(connection, *stream, kQueueBytes);
    forget_if_over(*stream);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Writable& event) {
    if (const StreamPtr stream = find(event.id)) pump_out(connection, *stream);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamReceived& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->end_reading();
    forget_if_over(*stream);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamDelivered& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    if (stream->writing == Writing::finished) stream->writing.enter(Writing::delivered);
    forget_if_over(*stream);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamReset& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->fail_reading({ErrorCode::interrupted, "the peer reset the stream", 0, event.code});
    stream->pieces.clear();
    stream->release_due = 0;
    forget_if_over(*stream);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamStopped& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->fail_writing({ErrorCode::interrupted, "the peer stopped the stream", 0, event.code});
    forget_if_over(*stream);
}

}  // namespace udtx::io
