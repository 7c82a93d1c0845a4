#include "transfer/run/awaited.hpp"

#include <variant>

#include "io/path_log.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::transfer {
namespace {

/// A second peer with the key is accepted only to be told that one is enough.
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
    if (taken_.exchange(true)) return nullptr;
    begun(connection);
    note_connected(monotonic_now(), connection);
    return shared_from_this();
}

void Awaited::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    io::log_paths(log_, {}, true, event);
    if (std::holds_alternative<proto::event::Closed>(event)) note_closed(connection);
    handler().on_event(now, connection, event);
}

}  // namespace udtx::transfer
