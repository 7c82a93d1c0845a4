// Three nodes, two links with watched drop-tail queues, and the papers' cross traffic.
#pragma once

#include <ns3/ipv4-address.h>
#include <ns3/node-container.h>
#include <ns3/ptr.h>

#include <cstdint>
#include <functional>

#include "cell.hpp"
#include "line.hpp"

namespace udtx::papers {

inline constexpr std::uint16_t kFirstFlowPort = 9000;
inline constexpr std::uint16_t kCrossPort = 7000;

class Topology {
  public:
    explicit Topology(const Cell& cell, std::function<void(std::uint16_t port)> on_drop);

    [[nodiscard]] ns3::Ptr<ns3::Node> sender() const { return nodes_.Get(0); }
    [[nodiscard]] ns3::Ptr<ns3::Node> receiver() const { return nodes_.Get(2); }
    [[nodiscard]] ns3::Ipv4Address sender_address() const { return sender_address_; }
    [[nodiscard]] ns3::Ipv4Address receiver_address() const { return receiver_address_; }
    /// Mean bytes that waited in the two queues from A to C since the last call.
    [[nodiscard]] double take_mean_queue_bytes() { return access_.take_mean_bytes() + line_.take_mean_bytes(); }

  private:
    void connect(const Cell& cell);
    void add_cross_traffic(const Cell& cell);

    ns3::NodeContainer nodes_;
    ns3::Ipv4Address sender_address_;
    ns3::Ipv4Address receiver_address_;
    QueueWatch access_;
    QueueWatch line_;
    std::function<void(std::uint16_t)> on_drop_;
};

}  // namespace udtx::papers
