// Transfers bytes between user threads and the queues of a stream.
#include <algorithm>
#include <cstring>
#include <utility>

#include "io/session_state.hpp"

namespace udtx::io {
namespace {

constexpr const char* kNoRoom = "the stream took no bytes in time";
constexpr const char* kNothingCame = "nothing came in time";

}  // namespace

std::optional<Error> SessionState::why_not_written(const SessionStream& stream) const {
    if (over()) return end_;
    if (stream.write_error) return stream.write_error;
    if (stream.finish_wanted) return Error{ErrorCode::invalid_argument, "write after finish"};
    return std::nullopt;
}

void SessionState::put(SessionStream& stream, Chunk chunk) {
    // If bytes are already queued, the protocol thread was woken, or checks again when the connection takes more.
    if (stream.outgoing.empty()) wake_due_ = true;
    const std::size_t size = chunk.size();
    if (stream.outgoing.empty() || !stream.outgoing.back().append(chunk)) stream.outgoing.push_back(std::move(chunk));
    stream.outgoing_bytes += size;
}

std::optional<Result<std::size_t>> SessionState::try_write(SessionStream& stream, std::span<const std::byte> bytes,
                                                           std::size_t& most) {
    if (const auto why = why_not_written(stream)) return Result<std::size_t>(*why);
    if (bytes.empty()) return Result<std::size_t>(std::size_t{0});
    if (stream.outgoing_bytes >= std::exchange(most, kRefillBytes)) return std::nullopt;
    Chunk copy = stream.written.copy(bytes);
    const std::size_t size = copy.size();
    put(stream, std::move(copy));
    return Result<std::size_t>(size);
}

std::optional<Result<void>> SessionState::try_write_chunk(SessionStream& stream, Chunk& chunk, std::size_t& most) {
    if (const auto why = why_not_written(stream)) return Result<void>(*why);
    if (chunk.empty()) return Result<void>();
    if (stream.outgoing_bytes >= std::exchange(most, kRefillBytes)) return std::nullopt;
    put(stream, std::move(chunk));
    return Result<void>();
}

Result<std::size_t> SessionState::write_some(const StreamPtr& stream, std::span<const std::byte> bytes,
                                             Timeout timeout) {
    return block<std::size_t>(stream.get(), timeout, kNoRoom,
                              [&, most = kQueueBytes]() mutable { return try_write(*stream, bytes, most); });
}

Result<void> SessionState::write_chunk(const StreamPtr& stream, Chunk chunk, Timeout timeout) {
    return block<void>(stream.get(), timeout, kNoRoom,
                       [&, most = kQueueBytes]() mutable { return try_write_chunk(*stream, chunk, most); });
}

CallId SessionState::start_write_chunk(const StreamPtr& stream, Chunk chunk, Callback<void> done) {
    return begin<void>(
        stream.get(),
        [this, stream, chunk = std::move(chunk), most = kQueueBytes]() mutable {
            return try_write_chunk(*stream, chunk, most);
        },
        std::move(done));
}

CallId SessionState::start_write(const StreamPtr& stream, std::span<const std::byte> bytes, bool all,
                                 Callback<std::size_t> done) {
    return begin<std::size_t>(
        stream.get(),
        [this, stream, bytes, all, taken = std::size_t{0},
         most = kQueueBytes]() mutable -> std::optional<Result<std::size_t>> {
            for (;;) {
                auto result = try_write(*stream, bytes.subspan(taken), most);
                if (!result || !*result) return result;
                most = kQueueBytes;
                taken += **result;
                if (!all || taken == bytes.size()) return Result<std::size_t>(taken);
            }
        },
        std::move(done));
}

std::optional<Result<std::size_t>> SessionState::try_read(SessionStream& stream, std::span<std::byte> out) {
    if (out.empty()) return Result<std::size_t>(std::size_t{0});
    if (close_wanted_) return Result<std::size_t>(closed_here());
    if (stream.read_error) return Result<std::size_t>(*stream.read_error);
    std::size_t count = 0;
    while (!stream.incoming.empty() && count < std::min(out.size(), kCopyBytes)) {
        Chunk& first = stream.incoming.front();
        const std::size_t size = std::min(out.size() - count, first.size());
        std::memcpy(out.data() + count, first.bytes().data(), size);
        count += size;
        if (size < first.size()) {
            first = first.part(size, first.size());
        } else {
            stream.incoming.pop_front();
        }
    }
    if (count > 0) {
        note_read(stream, count);
        return Result<std::size_t>(count);
    }
    if (stream.ended) return Result<std::size_t>(std::size_t{0});
    if (over()) return Result<std::size_t>(*end_);
    return std::nullopt;
}

std::optional<Result<Chunk>> SessionState::try_read_chunk(SessionStream& stream) {
    if (close_wanted_) return Result<Chunk>(closed_here());
    if (stream.read_error) return Result<Chunk>(*stream.read_error);
    if (!stream.incoming.empty()) {
        Chunk first = std::move(stream.incoming.front());
        stream.incoming.pop_front();
        note_read(stream, first.size());
        return Result<Chunk>(std::move(first));
    }
    if (stream.ended) return Result<Chunk>(Chunk());
    if (over()) return Result<Chunk>(*end_);
    return std::nullopt;
}

void SessionState::note_read(SessionStream& stream, std::size_t bytes) {
    stream.incoming_bytes -= bytes;
    if (stream.readable && !over() && stream.incoming_bytes <= kRefillBytes) wake_due_ = true;
}

Result<Chunk> SessionState::read_chunk(const StreamPtr& stream, Timeout timeout) {
    return block<Chunk>(stream.get(), timeout, kNothingCame, [&] { return try_read_chunk(*stream); });
}

CallId SessionState::start_read_chunk(const StreamPtr& stream, Callback<Chunk> done) {
    return begin<Chunk>(
        stream.get(), [this, stream] { return try_read_chunk(*stream); }, std::move(done));
}

Result<std::size_t> SessionState::read(const StreamPtr& stream, std::span<std::byte> out, Timeout timeout) {
    return block<std::size_t>(stream.get(), timeout, kNothingCame, [&] { return try_read(*stream, out); });
}

CallId SessionState::start_read(const StreamPtr& stream, std::span<std::byte> out, Callback<std::size_t> done) {
    return begin<std::size_t>(
        stream.get(), [this, stream, out] { return try_read(*stream, out); }, std::move(done));
}

std::optional<Result<std::optional<Piece>>> SessionState::try_read_piece(SessionStream& stream) {
    using Answer = Result<std::optional<Piece>>;
    if (close_wanted_) return Answer(closed_here());
    if (stream.read_error) return Answer(*stream.read_error);
    if (!stream.pieces.empty()) {
        Piece piece = std::move(stream.pieces.front());
        stream.pieces.pop_front();
        stream.release_due += piece.data.size();
        wake_due_ = true;
        return Answer(std::optional<Piece>(std::move(piece)));
    }
    if (stream.ended) return Answer(std::optional<Piece>());
    if (over()) return Answer(*end_);
    return std::nullopt;
}

Result<std::optional<Piece>> SessionState::read_piece(const StreamPtr& stream, Timeout timeout) {
    return block<std::optional<Piece>>(stream.get(), timeout, kNothingCame, [&] { return try_read_piece(*stream); });
}

CallId SessionState::start_read_piece(const StreamPtr& stream, Callback<std::optional<Piece>> done) {
    return begin<std::optional<Piece>>(
        stream.get(), [this, stream] { return try_read_piece(*stream); }, std::move(done));
}

}  // namespace udtx::io
