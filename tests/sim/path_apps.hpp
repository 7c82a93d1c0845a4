// The two ends' applications: simulated bulk transfer, with more than one path and a meter at the receiver.
#pragma once

#include <utility>
#include <vector>

#include "sim/apps.hpp"
#include "sim/reorder_meter.hpp"

namespace udtx::sim {

/// Sends without end, in order, and opens further paths as soon as the connection is up.
class PathSender final : public App {
  public:
    explicit PathSender(std::vector<proto::PathAddresses> more);
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;

    /// When the first path was taken for alive after it had been silent.
    [[nodiscard]] const std::vector<Instant>& revivals() const noexcept { return revivals_; }

  private:
    std::vector<proto::PathAddresses> more_;
    std::vector<Instant> revivals_;
    Sender sender_;
};

/// Checks what comes and measures how long it waited for its turn.
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
