#include "udtx/core/connection.hpp"

#include <utility>

#include "proto/connection_impl.hpp"

namespace udtx::proto {

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() = default;

std::optional<Event> Connection::poll_event() { return impl_->poll_event(); }

Result<StreamId> Connection::open_stream(StreamKind kind) { return impl_->open_stream(kind); }
std::uint64_t Connection::write_capacity(StreamId id, std::uint64_t unacked) {
    return impl_->write_capacity(id, unacked);
}
Result<void> Connection::write(StreamId id, Chunk chunk) { return impl_->write(id, std::move(chunk)); }
Result<void> Connection::finish(StreamId id) { return impl_->finish(id); }
ReadResult Connection::read(StreamId id, std::span<std::byte> out) { return impl_->read(id, out); }
ReadChunk Connection::read_chunk(StreamId id) { return impl_->read_chunk(id); }
void Connection::set_placed_sink(PlacedSink* sink) { impl_->set_placed_sink(sink); }
void Connection::release_placed(StreamId id, std::uint64_t bytes) { impl_->release_placed(id, bytes); }
void Connection::reset_stream(StreamId id, std::uint64_t code) { impl_->reset_stream(id, code); }
void Connection::stop_receiving(StreamId id, std::uint64_t code) { impl_->stop_receiving(id, code); }
std::uint64_t Connection::held_bytes() const { return impl_->held_bytes(); }

Result<PathId> Connection::add_path(Instant now, const Address& local, const Address& remote,
                                    const PathOptions& options) {
    return impl_->add_path(now, local, remote, options);
}
Result<void> Connection::remove_path(Instant now, PathId id) { return impl_->remove_path(now, id); }
void Connection::set_max_rate(Rate rate) { impl_->set_max_rate(rate); }
void Connection::set_peer_rate(Rate rate) { impl_->set_peer_rate(rate); }
void Connection::set_group_rate(Rate rate) { impl_->set_group_rate(rate); }

void Connection::close(Instant now, std::uint64_t code, std::string reason) {
    impl_->close(now, code, std::move(reason));
}
void Connection::refuse(Instant now, std::string message) { impl_->refuse(now, std::move(message)); }
void Connection::give_up(Instant now, const std::exception& thrown) noexcept { impl_->give_up(now, thrown); }
void Connection::suspect(Instant now, Evidence evidence) { impl_->suspect(now, evidence); }
void Connection::on_refused(Instant now, const Address& remote) { impl_->on_refused(now, remote); }

bool Connection::connected() const noexcept { return impl_->connected(); }
bool Connection::drained() const noexcept { return impl_->drained(); }
Role Connection::role() const noexcept { return impl_->setup().role; }
Instant Connection::started() const noexcept { return impl_->started(); }
bool Connection::heard() const noexcept { return impl_->heard(); }
ConnectionStats Connection::stats() const { return impl_->stats(); }
const Address& Connection::remote() const noexcept { return impl_->remote(); }
std::span<const std::byte> Connection::peer_key() const noexcept { return impl_->peer_key(); }
ConnectionId Connection::local_id() const noexcept { return impl_->setup().local; }
ConnectionId Connection::remote_id() const noexcept { return impl_->remote_id(); }
std::span<const PathAddresses> Connection::alternatives() const noexcept { return impl_->setup().alternatives; }

}  // namespace udtx::proto
