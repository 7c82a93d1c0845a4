// The nodes and links of a cell, and their changes while it runs.
#pragma once

#include <ns3/error-model.h>
#include <ns3/ipv4-address.h>
#include <ns3/node.h>
#include <ns3/packet-sink.h>
#include <ns3/point-to-point-channel.h>
#include <ns3/point-to-point-net-device.h>  // the channel needs it
#include <ns3/ptr.h>

#include <cstdint>
#include <vector>

#include "line.hpp"
#include "paths/cell.hpp"

namespace udtx::papers::paths {

inline constexpr std::uint16_t kFlowPort = 9000;

class Lines {
  public:
    explicit Lines(const Cell& cell);

    [[nodiscard]] ns3::Ptr<ns3::Node> sender() const { return sender_; }
    [[nodiscard]] ns3::Ptr<ns3::Node> receiver() const { return receiver_; }
    [[nodiscard]] ns3::Ipv4Address sender_address(std::size_t line) const { return chains_.at(line).sender; }
    [[nodiscard]] ns3::Ipv4Address receiver_address(std::size_t line) const { return chains_.at(line).receiver; }
    [[nodiscard]] std::size_t count() const noexcept { return chains_.size(); }
    /// Mean queueing delay of the router since the last call, milliseconds.
    [[nodiscard]] double take_queue_ms(std::size_t line);
    /// Number of the connection's packets that queues dropped.
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
    /// Traffic that other senders have put on the links, headers included, Mbit.
    [[nodiscard]] double cross_mbit() const;

  private:
    struct Chain {
        double mbps = 0.0;
        double delay_ms = 0.0;  // present one-way delay of the link
        ns3::Ptr<ns3::Node> router;
        ns3::Ipv4Address sender;
        ns3::Ipv4Address receiver;
        ns3::Ptr<ns3::PointToPointChannel> channel;
        ns3::Ptr<ns3::RateErrorModel> errors;
        QueueWatch access_queue;
        QueueWatch router_queue;
    };

    void add_chain(const Line& line, std::size_t index);
    void add_cross(const CrossTraffic& cross, std::size_t index, std::uint32_t payload);
    void add_errors(const Errors& errors);
    void begin(const Ramp& ramp);
    void step(const Ramp& ramp, double first_ms);

    ns3::Ptr<ns3::Node> sender_;
    ns3::Ptr<ns3::Node> receiver_;
    std::vector<Chain> chains_;
    std::vector<ns3::Ptr<ns3::PacketSink>> sinks_;
    double cross_scale_ = 0.0;  // Mbit on the link per payload byte
    std::uint64_t dropped_ = 0;
};

}  // namespace udtx::papers::paths
