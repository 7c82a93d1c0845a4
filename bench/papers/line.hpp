// A link between two nodes, and a watch on the fill level and the drops of its queue.
#pragma once

#include <ns3/net-device-container.h>
#include <ns3/node-container.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>

#include <cstdint>
#include <functional>

namespace udtx::papers {

/// Adds a symmetric link with a drop-tail queue of `packets` packets at each end.
[[nodiscard]] ns3::NetDeviceContainer add_line(const ns3::NodeContainer& ends, double mbps, double delay_ms,
                                               std::uint32_t packets);

/// Records a queue's fill level over time and reports its drops.
class QueueWatch {
  public:
    /// `on_drop` is called with the destination port of each dropped packet.
    void attach(ns3::Ptr<ns3::NetDevice> device, std::function<void(std::uint16_t port)> on_drop);
    /// Mean bytes waiting since the last call.
    [[nodiscard]] double take_mean_bytes();

  private:
    void on_bytes(std::uint32_t before, std::uint32_t after);
    void on_drop(ns3::Ptr<const ns3::Packet> packet);
    void account();

    std::function<void(std::uint16_t)> tell_;
    std::uint32_t bytes_ = 0;
    double byte_ns_ = 0.0;
    std::int64_t since_ns_ = 0;
    std::int64_t last_ns_ = 0;
};

}  // namespace udtx::papers
