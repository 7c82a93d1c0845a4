#include "udtx/stream.hpp"

#include <utility>

#include "io/guarded.hpp"
#include "io/session_state.hpp"

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
