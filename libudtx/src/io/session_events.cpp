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
    return {reason.code, reason.by_peer ? "the peer says: " + text : text};
}

/// Users who wait look again, also after something was thrown.
struct Notice {
    explicit Notice(std::condition_variable& changed) : changed_(changed) {}
    ~Notice() { changed_.notify_all(); }
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

  private:
    std::condition_variable& changed_;
};

/// It must be said whatever memory there is: somebody waits for it.
Error end_for(const proto::CloseReason& reason) {
    try {
        return to_error(reason);
    } catch (const std::exception& failed) {
        return {reason.orderly() ? ErrorCode::interrupted : reason.code, describe_lack(failed)};
    }
}

}  // namespace

void SessionState::attach(proto::Waker waker, const Address& remote) {
    auto shared = std::make_shared<const proto::Waker>(std::move(waker));
    Lock lock(mutex_);
    waker_ = std::move(shared);
    remote_ = remote;
    wake(lock);  // for wishes that came before
}

void SessionState::on_event(Instant, proto::Connection& connection, const proto::Event& event) {
    const Lock lock(mutex_);
    const Notice notice(changed_);
    std::visit([&](const auto& what) { handle(connection, what); }, event);
}

void SessionState::fail(const std::exception& lack) {
    const Lock lock(mutex_);
    const Notice notice(changed_);
    if (!over()) end_ = Error{ErrorCode::internal, describe_lack(lack)};
}

void SessionState::on_wake(Instant now, proto::Connection& connection) {
    const Lock lock(mutex_);
    const Notice notice(changed_);
    if (close_wanted_) {
        stats_ = connection.stats();
        stats_answered_ = std::max<std::uint64_t>(stats_asked_, 1);
        connection.close(now, 0, "");
    } else if (!over()) {
        serve_requests(now, connection);
        // A pump may forget its stream: walk over a copy.
        std::vector<StreamPtr> all;
        all.reserve(streams_.size());
        for (const auto& [id, stream] : streams_) all.push_back(stream);
        for (const StreamPtr& stream : all) {
            pump_out(connection, *stream);
            pump_in(connection, *stream, kQueueBytes);
            forget_if_done(stream->id);
        }
    }
}

void SessionState::serve_requests(Instant now, proto::Connection& connection) {
    for (const auto& request : std::exchange(requests_, {})) request(now, connection);
    if (stats_answered_ < stats_asked_) {
        stats_ = connection.stats();
        stats_answered_ = stats_asked_;
    }
}

SessionState::StreamPtr SessionState::find(StreamId id) const {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second;
}

SessionState::StreamPtr SessionState::add(StreamId id) {
    auto stream = std::make_shared<SessionStream>();
    stream->id = id;
    streams_[id] = stream;
    return stream;
}

void SessionState::pump_out(proto::Connection& connection, SessionStream& stream) {
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
    if (stream.abandoned && !stream.ended && !stream.read_error) {
        connection.stop_receiving(stream.id, 0);
        stream.ended = true;
        stream.readable = false;
    }
    if (!stream.accepted) return;
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

/// A stream on which nothing can happen any more lives on in the user's handles only.
void SessionState::forget_if_done(StreamId id) {
    const StreamPtr stream = find(id);
    if (!stream) return;
    const bool sent = stream->delivered || stream->write_error;
    const bool received = stream->ended || stream->read_error;
    if (sent && received) streams_.erase(id);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Connected&) {
    connected_ = true;
    remote_ = connection.remote();  // of several ways the one that answered
}

void SessionState::handle(proto::Connection& connection, const proto::event::StreamOpened& event) {
    if (event.id.kind() != StreamKind::ordered) {
        connection.stop_receiving(event.id, 0);  // this interface has no use for placed streams
        return;
    }
    const StreamPtr stream = add(event.id);
    stream->readable = true;
    stream->accepted = false;
    if (!close_wanted_) acceptable_.push_back(stream);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Readable& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->readable = true;
    pump_in(connection, *stream, kQueueBytes);
    forget_if_done(event.id);
}

void SessionState::handle(proto::Connection& connection, const proto::event::Writable& event) {
    if (const StreamPtr stream = find(event.id)) pump_out(connection, *stream);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamReceived&) {}

void SessionState::handle(proto::Connection&, const proto::event::StreamDelivered& event) {
    if (const StreamPtr stream = find(event.id)) stream->delivered = true;
    forget_if_done(event.id);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamReset& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->read_error = Error{ErrorCode::interrupted, "the peer gave up sending this stream"};
    forget_if_done(event.id);
}

void SessionState::handle(proto::Connection&, const proto::event::StreamStopped& event) {
    const StreamPtr stream = find(event.id);
    if (!stream) return;
    stream->write_error = Error{ErrorCode::interrupted, "the peer does not want more of this stream"};
    stream->outgoing.clear();
    stream->outgoing_bytes = 0;
    forget_if_done(event.id);
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
        orderly_end_ = event.reason.orderly();
        end_ = end_for(event.reason);
    }
    waker_ = nullptr;
    stats_ = connection.stats();
    stats_answered_ = std::max<std::uint64_t>(stats_asked_, 1);
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
