#include "serve/refusing_handler.hpp"

#include <utility>
#include <variant>

#include "transfer/close_codes.hpp"

namespace udtx::apps {

void RefusingHandler::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Closed>(event) || std::exchange(closed_, true)) return;
    // As an endpoint that is full: it is no matter of what was asked for.
    if (code_ == ErrorCode::network) return connection.refuse(now, reason_);
    connection.close(now, static_cast<std::uint64_t>(transfer::close_code_for(code_)), reason_);
}

void RefusingHandler::on_wake(Instant /*now*/, proto::Connection& /*connection*/) {}

void RefusingHandler::on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {}

}  // namespace udtx::apps
