// The answer to a connection that is not served.
#pragma once

#include <string>
#include <utility>

#include "proto/application.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Tells the other side why it is not served, and ends the connection.
class RefusingHandler final : public proto::ConnectionHandler {
  public:
    RefusingHandler(ErrorCode code, std::string reason) : code_(code), reason_(std::move(reason)) {}
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    ErrorCode code_;
    std::string reason_;
    bool closed_ = false;
};

}  // namespace udtx::apps
