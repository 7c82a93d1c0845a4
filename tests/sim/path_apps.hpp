// The applications of both ends for a simulated bulk transfer over several paths, with a meter at the receiver.
#pragma once

#include <utility>
#include <vector>

#include "sim/apps.hpp"
#include "sim/reorder_meter.hpp"

namespace udtx::sim {

/// Sends endlessly on an ordered stream and opens further paths as soon as the connection is up.
class PathSender final : public App {
  public:
    explicit PathSender(std::vector<proto::PathAddresses> more);
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;

    /// Times at which the first path was declared alive again after it had failed.
    [[nodiscard]] const std::vector<Instant>& revivals() const noexcept { return revivals_; }

  private:
    std::vector<proto::PathAddresses> more_;
    std::vector<Instant> revivals_;
    Sender sender_;
};

/// Checks the received bytes and measures how long they waited for their turn.
class MeteredReceiver final : public App {
  public:
    explicit MeteredReceiver(Instant start) : meter_(start) {}
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        receiver_.on_event(now, connection, event);
    }
    void on_tick(Instant now, proto::Connection& connection) override;

    [[nodiscard]] std::uint64_t received() const noexcept { return receiver_.received(); }
    [[nodiscard]] bool intact() const noexcept { return receiver_.intact(); }
    [[nodiscard]] const ReorderMeter& meter() const noexcept { return meter_; }

  private:
    Receiver receiver_;
    ReorderMeter meter_;
};

}  // namespace udtx::sim
