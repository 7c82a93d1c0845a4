// Tells a peer that was not accepted why, and ends its connection.
#pragma once

#include <span>
#include <utility>
#include <variant>

#include "proto/application.hpp"
#include "transfer/close_codes.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class TurnedAway final : public proto::ConnectionHandler {
  public:
    explicit TurnedAway(Error why) : why_(std::move(why)) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Closed>(event) || std::exchange(told_, true)) return;
        // Refuses like an endpoint that is full: the request itself was not the problem.
        if (why_.code == ErrorCode::network) return connection.refuse(now, why_.message);
        connection.close(now, static_cast<std::uint64_t>(close_code_for(why_.code)), why_.message);
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    Error why_;
    bool told_ = false;
};

}  // namespace udtx::transfer
