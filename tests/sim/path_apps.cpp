#include "sim/path_apps.hpp"

#include <stdexcept>
#include <variant>

namespace udtx::sim {
namespace {

constexpr std::uint64_t kEndless = 1ULL << 40U;  // bytes: more than any run moves

}  // namespace

PathSender::PathSender(std::vector<proto::PathAddresses> more)
    : more_(std::move(more)), sender_({.bytes = kEndless, .kind = StreamKind::ordered}) {}

void PathSender::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        for (const proto::PathAddresses& path : more_) {
            const auto opened = connection.add_path(now, path.local, path.remote, path.options);
            if (!opened) throw std::runtime_error("a path does not open: " + opened.error().message);
        }
    } else if (const auto* change = std::get_if<proto::event::PathChanged>(&event)) {
        if (change->id == PathId{0} && change->state == PathState::active) revivals_.push_back(now);
    }
    sender_.on_event(now, connection, event);
}

void MeteredReceiver::on_tick(Instant now, proto::Connection& connection) {
    receiver_.on_tick(now, connection);
    meter_.update(now, connection.stats().stream_bytes_received, receiver_.received());
}

}  // namespace udtx::sim
