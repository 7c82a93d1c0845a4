#include "io/session_streams.hpp"

#include <algorithm>
#include <utility>

#include "udtx/core/connection.hpp"

namespace udtx::io {

SessionStreams::StreamPtr SessionStreams::find(StreamId id) const {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second;
}

SessionStreams::StreamPtr SessionStreams::add(StreamId id) {
    auto stream = std::make_shared<SessionStream>(id);
    streams_[id] = stream;
    return stream;
}

SessionStreams::StreamPtr SessionStreams::accept(StreamKind kind) {
    const auto fits = [kind](const StreamPtr& stream) { return stream->id.kind() == kind; };
    const auto found = std::find_if(acceptable_.begin(), acceptable_.end(), fits);
    if (found == acceptable_.end()) return nullptr;
    StreamPtr stream = std::move(*found);
    acceptable_.erase(found);
    stream->accepted = true;
    return stream;
}

void SessionStreams::open(StreamId id, bool acceptable) {
    StreamPtr stream = find(id);
    if (!stream) stream = add(id);
    stream->accepted = false;
    if (id.kind() == StreamKind::ordered) {
        stream->readable = true;
    } else {
        stream->write_error = Error{ErrorCode::invalid_argument, "only the opener of a placed stream can send on it"};
    }
    if (acceptable) acceptable_.push_back(std::move(stream));
}

void SessionStreams::place(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    StreamPtr stream = find(id);
    if (!stream) {
        // The first bytes arrive before the event that the stream was opened.
        stream = add(id);
        stream->accepted = false;
    }
    if (stream->abandoned || stream->read_error) return;
    auto& pieces = stream->pieces;
    while (!bytes.empty()) {
        Chunk part = stream->placed.copy(bytes);
        const std::size_t size = part.size();
        const bool next = !pieces.empty() && pieces.back().offset + pieces.back().data.size() == offset;
        if (!next || !pieces.back().data.append(part)) pieces.push_back({offset, std::move(part)});
        offset += size;
        bytes = bytes.subspan(size);
    }
}

void SessionStreams::serve(proto::Connection& connection) {
    // serve() may remove a stream, so iterate over a copy.
    std::vector<StreamPtr> all;
    all.reserve(streams_.size());
    for (const auto& [id, stream] : streams_) all.push_back(stream);
    for (const StreamPtr& stream : all) serve(connection, *stream);
}

void SessionStreams::end(proto::Connection& connection, bool wanted) {
    // Bytes received before the end stay readable; flow control bounds them.
    if (wanted) {
        for (const auto& [id, stream] : streams_) {
            stream->accepted = true;
            pump_in(connection, *stream, SIZE_MAX);
        }
    }
    streams_.clear();
}

void SessionStreams::serve(proto::Connection& connection, SessionStream& stream) {
    pump_out(connection, stream);
    if (stream.stop_due) give_up_reading(connection, stream);
    if (stream.release_due > 0) connection.release_placed(stream.id, std::exchange(stream.release_due, 0));
    pump_in(connection, stream, kQueueBytes);
    forget_if_over(stream.id);
}

void SessionStreams::give_up_reading(proto::Connection& connection, SessionStream& stream) {
    connection.stop_receiving(stream.id, *std::exchange(stream.stop_due, std::nullopt));
    stream.readable = false;
    stream.ended = true;
    stream.release_due = 0;
    stream.pieces.clear();
}

void SessionStreams::pump_out(proto::Connection& connection, SessionStream& stream) {
    if (stream.reset_due) connection.reset_stream(stream.id, *std::exchange(stream.reset_due, std::nullopt));
    if (stream.write_error || stream.finish_passed) return;
    while (!stream.outgoing.empty() && connection.write_capacity(stream.id) > 0) {
        Chunk chunk = std::move(stream.outgoing.front());
        stream.outgoing.pop_front();
        stream.outgoing_bytes -= chunk.size();
        if (const auto written = connection.write(stream.id, std::move(chunk)); !written) {
            stream.write_error = written.error();
            return;
        }
    }
    if (!stream.finish_wanted || !stream.outgoing.empty()) return;
    stream.finish_passed = true;
    stream.written = {};
    if (const auto finished = connection.finish(stream.id); !finished) stream.write_error = finished.error();
}

void SessionStreams::pump_in(proto::Connection& connection, SessionStream& stream, std::size_t most) {
    if (!stream.accepted || stream.id.kind() != StreamKind::ordered) return;
    while (stream.readable && !stream.ended && stream.incoming_bytes < most) {
        auto got = connection.read_chunk(stream.id);
        stream.ended = got.end;
        stream.readable = !got.chunk.empty();
        if (!stream.readable) return;
        stream.incoming_bytes += got.chunk.size();
        if (stream.incoming.empty() || !stream.incoming.back().append(got.chunk)) {
            stream.incoming.push_back(std::move(got.chunk));
        }
    }
}

/// Afterwards only the user's handles own the stream.
void SessionStreams::forget_if_over(StreamId id) {
    const StreamPtr stream = find(id);
    if (stream && stream->over()) streams_.erase(id);
}

void SessionStreams::handle(proto::Connection& connection, const proto::event::Readable& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->readable = true;
    pump_in(connection, *stream, kQueueBytes);
    forget_if_over(event.id);
}

void SessionStreams::handle(proto::Connection& connection, const proto::event::Writable& event) {
    if (const StreamPtr stream = find(event.id)) pump_out(connection, *stream);
}

void SessionStreams::handle(proto::Connection&, const proto::event::StreamReceived& event) {
    if (const StreamPtr stream = find(event.id)) stream->ended = true;
    forget_if_over(event.id);
}

void SessionStreams::handle(proto::Connection&, const proto::event::StreamDelivered& event) {
    if (const StreamPtr stream = find(event.id)) stream->delivered = true;
    forget_if_over(event.id);
}

void SessionStreams::handle(proto::Connection&, const proto::event::StreamReset& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->read_error = Error{ErrorCode::interrupted, "the peer reset the stream", 0, event.code};
    stream->pieces.clear();
    stream->release_due = 0;
    forget_if_over(event.id);
}

void SessionStreams::handle(proto::Connection&, const proto::event::StreamStopped& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->write_error = Error{ErrorCode::interrupted, "the peer stopped the stream", 0, event.code};
    stream->drop_outgoing();
    forget_if_over(event.id);
}

}  // namespace udtx::io
