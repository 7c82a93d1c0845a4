#include "io/session_streams.hpp"

#include <algorithm>
#include <utility>

#include "io/protocol_thread.hpp"
#include "io/session_state.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/stream.hpp"

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

namespace udtx {
namespace {

using io::begun;
using io::guarded;

Error no_stream() { return {ErrorCode::invalid_argument, "the stream object was moved from"}; }

Error other_kind(StreamKind kind) {
    return {ErrorCode::invalid_argument, kind == StreamKind::ordered
                                             ? "an ordered stream is read by read(), not by pieces"
                                             : "a placed stream is read by pieces, not by read()"};
}

/// The remaining time of a call that consists of several calls.
class TimeLeft {
  public:
    explicit TimeLeft(std::chrono::milliseconds timeout) : timeout_(timeout) {}
    [[nodiscard]] std::chrono::milliseconds operator()() const {
        if (timeout_ == kForever) return kForever;
        const auto spent = std::chrono::steady_clock::now() - start_;
        return timeout_ - std::chrono::duration_cast<std::chrono::milliseconds>(spent);
    }

  private:
    std::chrono::milliseconds timeout_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Keeps the stream open until the callback has run.
template <class T>
Callback<T> holding(const std::shared_ptr<io::StreamHandle>& handle, const Callback<T>& done) {
    return [handle, done](Result<T> result) { done(std::move(result)); };
}

}  // namespace

StreamId Stream::id() const noexcept { return handle_ ? handle_->id() : StreamId{}; }

Result<void> Stream::write(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<void> {
        const TimeLeft left(timeout);
        do {
            const auto taken = write_some(bytes, left());
            if (!taken) return taken.error();
            bytes = bytes.subspan(*taken);
        } while (!bytes.empty());
        return {};
    });
}

Result<std::size_t> Stream::write_some(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<std::size_t> {
        if (!handle_) return no_stream();
        return handle_->session().write_some(handle_->stream(), bytes, timeout);
    });
}

Result<void> Stream::write_chunk(Chunk chunk, std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<void> {
        if (!handle_) return no_stream();
        return handle_->session().write_chunk(handle_->stream(), std::move(chunk), timeout);
    });
}

Result<void> Stream::finish(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<void> {
        if (!handle_) return no_stream();
        return handle_->session().finish(handle_->stream(), timeout);
    });
}

void Stream::reset(std::uint64_t code) {
    if (handle_) handle_->session().reset(*handle_->stream(), code);
}

Result<std::size_t> Stream::read(std::span<std::byte> out, std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<std::size_t> {
        if (!handle_) return no_stream();
        if (kind() != StreamKind::ordered) return other_kind(kind());
        return handle_->session().read(handle_->stream(), out, timeout);
    });
}

Result<std::size_t> Stream::read_full(std::span<std::byte> out, std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<std::size_t> {
        const TimeLeft left(timeout);
        std::size_t filled = 0;
        for (;;) {
            const auto count = read(out.subspan(filled), left());
            if (!count) return count;
            filled += *count;
            if (*count == 0 || filled == out.size()) return filled;
        }
    });
}

Result<Chunk> Stream::read_chunk(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<Chunk> {
        if (!handle_) return no_stream();
        if (kind() != StreamKind::ordered) return other_kind(kind());
        return handle_->session().read_chunk(handle_->stream(), timeout);
    });
}

Result<std::optional<Piece>> Stream::read_piece(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<std::optional<Piece>> {
        if (!handle_) return no_stream();
        if (kind() != StreamKind::placed) return other_kind(kind());
        return handle_->session().read_piece(handle_->stream(), timeout);
    });
}

void Stream::stop_receiving(std::uint64_t code) {
    if (handle_) handle_->session().stop_receiving(*handle_->stream(), code);
}

CallId Stream::start_write_some(std::span<const std::byte> bytes, Callback<std::size_t> done) {
    return begun<std::size_t>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        return handle_->session().start_write(handle_->stream(), bytes, false, holding(handle_, done));
    });
}

CallId Stream::start_write(std::span<const std::byte> bytes, Callback<std::size_t> done) {
    return begun<std::size_t>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        return handle_->session().start_write(handle_->stream(), bytes, true, holding(handle_, done));
    });
}

CallId Stream::start_write_chunk(Chunk chunk, Callback<void> done) {
    return begun<void>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        return handle_->session().start_write_chunk(handle_->stream(), std::move(chunk), holding(handle_, done));
    });
}

CallId Stream::start_finish(Callback<void> done) {
    return begun<void>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        return handle_->session().start_finish(handle_->stream(), holding(handle_, done));
    });
}

CallId Stream::start_read(std::span<std::byte> out, Callback<std::size_t> done) {
    return begun<std::size_t>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        if (kind() != StreamKind::ordered) return other_kind(kind());
        return handle_->session().start_read(handle_->stream(), out, holding(handle_, done));
    });
}

CallId Stream::start_read_chunk(Callback<Chunk> done) {
    return begun<Chunk>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        if (kind() != StreamKind::ordered) return other_kind(kind());
        return handle_->session().start_read_chunk(handle_->stream(), holding(handle_, done));
    });
}

CallId Stream::start_read_piece(Callback<std::optional<Piece>> done) {
    return begun<std::optional<Piece>>(done, [&]() -> Result<CallId> {
        if (!handle_) return no_stream();
        if (kind() != StreamKind::placed) return other_kind(kind());
        return handle_->session().start_read_piece(handle_->stream(), holding(handle_, done));
    });
}

void Stream::cancel() {
    if (handle_) handle_->session().cancel(handle_->stream().get());
}

void Stream::cancel(CallId call) {
    if (handle_) handle_->session().cancel(call);
}

}  // namespace udtx
