#include "transfer/run/awaited.hpp"

#include <variant>

#include "io/path_log.hpp"
#include "transfer/run/turned_away.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::transfer {
namespace {

/// A second peer with the key is accepted only to be told to try again.
constexpr std::size_t kConnections = 2;

}  // namespace

void Awaited::begin() {
    driver().on_trouble([this, self = shared_from_this()](const Error& why, bool over) {
        const std::lock_guard lock(failing_);
        if (over) failed_ = why;
    });
    driver().listen(kConnections,
                    [this, self = shared_from_this()](proto::Connection& connection) { return take(connection); });
}

std::optional<Error> Awaited::failed() const {
    const std::lock_guard lock(failing_);
    return failed_;
}

std::shared_ptr<proto::ConnectionHandler> Awaited::take(proto::Connection& connection) {
    if (taken_.exchange(true)) {
        // The key has one owner, so the peer has connected again, and the first connection can hardly be in use.
        suspect_end();
        return std::make_shared<TurnedAway>(
            Error{ErrorCode::network, "an earlier connection of this transfer has not ended yet; try again"});
    }
    begun(connection);
    note_connected(monotonic_now(), connection);
    return shared_from_this();
}

void Awaited::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    io::log_paths(log_, {}, true, event);
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        lost_ = is_loss(closed->reason);
        note_closed(connection);
    }
    handler().on_event(now, connection, event);
}

}  // namespace udtx::transfer
