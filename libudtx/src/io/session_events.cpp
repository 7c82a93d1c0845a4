// The protocol thread's side of a session: carries out wishes, passes events on.
#include <algorithm>
#include <utility>

#include "base/scarcity.hpp"
#include "io/session_state.hpp"

namespace udtx::io {
namespace {

constexpr std::size_t kReadBytes = 64U << 10U;
constexpr std::size_t kPathEvents = 256;  // a program that asks for none does not pay for a path that flaps

Error to_error(const proto::CloseReason& reason) {
    if (reason.orderly()) {
        return {ErrorCode::interrupted, reason.by_peer ? "the peer closed the session" : "the session was closed"};
    }
    const std::string text = reason.message.empty() ? "the connection ended" : reason.message;
    Error error{reason.code, reason.by_peer ? "the peer says: " + text : text};
    if (reason.application) error.application_code = reason.wire_code;
    return error;
}

/// It must be said whatever memory there is: somebody waits for it.
Error end_for(const proto::CloseReason& reason) {
    try {
        return to_error(reason);
    } catch (const std::exception& failed) {
        return {reason.orderly() ? ErrorCode::interrupted : reason.code, describe_lack(failed)};
    }
}

}  // namespace

/// Calls that wait look again, also after something was thrown.
struct SessionState::Settling {
    Settling(SessionState& session, Lock& held) : state(session), lock(held) {}
    ~Settling() { state.settle(lock); }
    Settling(const Settling&) = delete;
    Settling& operator=(const Settling&) = delete;

    SessionState& state;
    Lock& lock;
};

void SessionState::note_peer(const proto::Connection& connection) {
    remote_ = connection.remote();
    const auto key = connection.peer_key();
    if (key.size() != sizeof(PublicKey::bytes)) return;
    std::copy(key.begin(), key.end(), peer_key_.emplace().bytes.begin());
}

void SessionState::attach(proto::Waker waker, const proto::Connection& connection) {
    auto shared = std::make_shared<const proto::Waker>(std::move(waker));
    Lock lock(mutex_);
    waker_ = std::move(shared);
    note_peer(connection);
    wake_due_ = true;  // for wishes that came before
    flush(lock);
}

void SessionState::attach_dialling(proto::Waker waker) {
    auto shared = std::make_shared<const proto::Waker>(std::move(waker));
    const Lock lock(mutex_);
    if (!waker_) waker_ = std::move(shared);
}

void SessionState::on_event(Instant, proto::Connection& connection, const proto::Event& event) {
    Lock lock(mutex_);
    const Settling settling(*this, lock);
    std::visit([&](const auto& what) { handle(connection, what); }, event);
}

void SessionState::set_dialled(std::vector<Address> addresses) {
    const Lock lock(mutex_);
    dialled_ = std::move(addresses);
}

void SessionState::fail(Error why) {
    Lock lock(mutex_);
    const Settling settling(*this, lock);
    if (!over()) end_ = std::move(why);
    waker_ = nullptr;
}

void SessionState::on_wake(Instant now, proto::Connection& connection) {
    Lock lock(mutex_);
    const Settling settling(*this, lock);
    if (close_wanted_) {
        last_stats_ = connection.stats();
        connection.close(now, close_reason_->wire_code, close_reason_->message);
    } else if (!over()) {
        for (const auto& request : std::exchange(requests_, {})) request(now, connection);
        // A stream may be forgotten: walk over a copy.
        std::vector<StreamPtr> all;
        all.reserve(streams_.size());
        for (const auto& [id, stream] : streams_) all.push_back(stream);
        for (const StreamPtr& stream : all) serve(connection, *stream);
    }
}

void SessionState::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    Lock lock(mutex_);
    StreamPtr stream = find(id);
    if (!stream) {
        // Its first bytes come before the event that it was opened.
        stream = add(id);
        stream->accepted = false;
    }
    if (stream->abandoned || stream->read_error) return;
    const Settling settling(*this, lock);
    auto& pieces = stream->pieces;
    const bool joins = !pieces.empty() && pieces.back().offset + pieces.back().bytes.size() == offset &&
                       pieces.back().bytes.size() < kPieceBytes;
    if (!joins) pieces.push_back({offset, {}});
    pieces.back().bytes.insert(pieces.back().bytes.end(), bytes.begin(), bytes.end());
}

SessionState::StreamPtr SessionState::find(StreamId id) const {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second;
}

SessionState::StreamPtr SessionState::add(StreamId id) {
    auto stream = std::make_shared<SessionStream>(id);
    streams_[id] = stream;
    return stream;
}

void SessionState::serve(proto::Connection& connection, SessionStream& stream) {
    pump_out(connection, stream);
    if (stream.stop_due) give_up_reading(connection, stream);
    if (stream.release_due > 0) connection.release_placed(stream.id, std::exchange(stream.release_due, 0));
    pump_in(connection, stream, kQueueBytes);
    forget_if_over(stream.id);
}

void SessionState::give_up_reading(proto::Connection& connection, SessionStream& stream) {
    connection.stop_receiving(stream.id, *std::exchange(stream.stop_due, std::nullopt));
    stream.readable = false;
    stream.ended = true;
    stream.release_due = 0;
    stream.pieces.clear();
}

void SessionState::pump_out(proto::Connection& connection, SessionStream& stream) {
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
    if (const auto finished = connection.finish(stream.id); !finished) stream.write_error = finished.error();
}

void SessionState::pump_in(proto::Connection& connection, SessionStream& stream, std::size_t most) {
    if (!stream.accepted || stream.id.kind() != StreamKind::ordered) return;
    scratch_.resize(kReadBytes);
    while (stream.readable && !stream.ended && stream.buffered() < most) {
        const auto got = connection.read(stream.id, scratch_);
        if (stream.incoming_at > 0 && stream.incoming_at >= stream.incoming.size() / 2) {
            stream.incoming.erase(stream.incoming.begin(),
                                  stream.incoming.begin() + static_cast<std::ptrdiff_t>(stream.incoming_at));
            stream.incoming_at = 0;
        }
        stream.incoming.insert(stream.incoming.end(), scratch_.begin(),
                               scratch_.begin() + static_cast<std::ptrdiff_t>(got.bytes));
        stream.ended = got.end;
        if (got.bytes == 0) stream.readable = false;
    }
}

/// It lives on in the user's handles only.
void SessionState::forget_if_over(StreamId id) {
    const StreamPtr stream = find(id);
    if (stream && stream->over()) streams_.erase(id);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Connected&) {
    connected_ = true;
    note_peer(connection);  // of several ways the one that answered
}

void SessionState::handle(proto::Connection&, const proto::event::StreamOpened& event) {
    StreamPtr stream = find(event.id);
    if (!stream) stream = add(event.id);
    stream->accepted = false;
    if (event.id.kind() == StreamKind::ordered) {
        stream->readable = true;
    } else {
        stream->write_error = Error{ErrorCode::invalid_argument, "on a placed stream only its opener sends"};
    }
    if (!close_wanted_) acceptable_.push_back(std::move(stream));
}

void SessionState::handle(proto::Connection& connection, const proto::event::Readable& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->readable = true;
    pump_in(connection, *stream, kQueueBytes);
    forget_if_over(event.id);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Writable& event) {
    if (const StreamPtr stream = find(event.id)) pump_out(connection, *stream);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamReceived& event) {
    if (const StreamPtr stream = find(event.id)) stream->ended = true;
    forget_if_over(event.id);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamDelivered& event) {
    if (const StreamPtr stream = find(event.id)) stream->delivered = true;
    forget_if_over(event.id);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamReset& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->read_error = Error{ErrorCode::interrupted, "the peer gave up sending this stream", 0, event.code};
    stream->pieces.clear();
    stream->release_due = 0;
    forget_if_over(event.id);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamStopped& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->write_error = Error{ErrorCode::interrupted, "the peer does not want more of this stream", 0, event.code};
    stream->drop_outgoing();
    forget_if_over(event.id);
}

void SessionState::handle(proto::Connection& connection, const proto::event::PeerMoved&) {
    remote_ = connection.remote();
}

void SessionState::handle(proto::Connection& connection, const proto::event::PathChanged& event) {
    if (path_events_.size() == kPathEvents) path_events_.pop_front();
    path_events_.push_back(event);
    remote_ = connection.remote();
}

void SessionState::handle(proto::Connection& connection, const proto::event::Closed& event) {
    if (!over()) {
        end_ = end_for(event.reason);
        close_reason_ = event.reason;
    }
    waker_ = nullptr;
    last_stats_ = connection.stats();
    // What arrived before the end stays readable; flow control bounds it.
    if (!close_wanted_) {
        for (const auto& [id, stream] : streams_) {
            stream->accepted = true;
            pump_in(connection, *stream, SIZE_MAX);
        }
    }
    streams_.clear();
    requests_.clear();
}

}  // namespace udtx::io
