// Hosts, the links between them, and a NAT in front of every host (transparent until it is rebound).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/link.hpp"

namespace udtx::sim {

/// A receiver of datagrams at an address.
class Host {
  public:
    virtual ~Host() = default;
    /// The host may overwrite `data`.
    virtual void on_datagram(Instant now, const Address& local, const Address& remote, std::span<std::byte> data,
                             proto::Ecn ecn) = 0;
};

using NodeId = std::size_t;

struct Route {
    NodeId destination = 0;
    std::vector<Link*> links;
};

struct NetworkCounters {
    std::uint64_t unroutable = 0;    ///< sent to an address that no host has (any more)
    std::uint64_t dead_mapping = 0;  ///< the NAT mapping ended while the packet was on its way
    std::uint64_t filtered = 0;      ///< removed by the filter
    std::uint64_t injected = 0;
    friend bool operator==(const NetworkCounters&, const NetworkCounters&) = default;
};

class Network final : PacketReceiver {
  public:
    Network(EventQueue& events, std::uint64_t seed) : events_(events), seed_(seed) {}

    NodeId add_node(std::string name, const Address& address, Host* host);
    Link& add_link(std::string name, LinkParams params);
    /// Routes packets from one node to the other through these links in order. Several routes may share a link.
    void connect(NodeId from, NodeId to, std::initializer_list<Link*> links);
    /// Adds an address to the node. It is not behind the NAT.
    void add_address(NodeId node, const Address& address) { by_outer_[address] = node; }
    /// Sets the route between two addresses, if it differs from the route of the nodes.
    void connect(const Address& from, const Address& to, std::initializer_list<Link*> links);

    /// A `from` without a family means the node's first address.
    void send(NodeId node, const Address& from, const Address& to, std::span<const std::byte> data,
              proto::Ecn ecn = proto::Ecn::not_ect);
    void send(NodeId node, const Address& to, std::span<const std::byte> data) { send(node, {}, to, data); }
    /// Gives `node` a new outer address at its NAT. The old mapping ends at once.
    void rebind(NodeId node, const Address& outer);
    [[nodiscard]] const Address& outer_address(NodeId node) const { return nodes_[node].outer; }
    [[nodiscard]] const std::string& name(NodeId node) const { return nodes_[node].name; }

    /// Injects a packet as an attacker next to the target. It arrives `after` from now, passes no link, and may have
    /// any source address.
    void inject(Duration after, const Address& from, const Address& to, std::vector<std::byte> data);

    /// Sees every packet as it leaves a host (outer addresses). A filter that returns false removes the packet.
    using Filter = std::function<bool(Instant now, NodeId from, const Packet& packet)>;
    void set_filter(Filter filter) { filter_ = std::move(filter); }

    /// Memory of all packets in bytes, in flight and idle.
    [[nodiscard]] std::size_t packet_memory() const noexcept { return pool_.memory(); }
    [[nodiscard]] const NetworkCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const std::vector<std::unique_ptr<Link>>& links() const noexcept { return links_; }

  private:
    struct Node {
        std::string name;
        Address inner;
        Address outer;
        Host* host = nullptr;
    };
    void on_packet(Instant now, PacketPtr packet) override;
    void deliver(Instant now, NodeId node, PacketPtr packet);
    [[nodiscard]] const Route* route(NodeId from_node, const Address& from, const Address& to) const;

    EventQueue& events_;
    std::uint64_t seed_;
    PacketPool pool_;
    std::vector<Node> nodes_;
    std::map<Address, NodeId> by_outer_;
    std::vector<std::unique_ptr<Link>> links_;
    std::map<std::pair<NodeId, NodeId>, Route> routes_;
    std::map<std::pair<Address, Address>, Route> address_routes_;
    Filter filter_;
    NetworkCounters counters_;
};

/// 10.0.0.`last`:`port`
[[nodiscard]] Address make_address(std::uint8_t last, std::uint16_t port);

}  // namespace udtx::sim
