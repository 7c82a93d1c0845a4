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

/// What sits at an address.
class Host {
  public:
    virtual ~Host() = default;
    /// `data` may be overwritten.
    virtual void on_datagram(Instant now, const Address& local, const Address& remote, std::span<std::byte> data) = 0;
};

using NodeId = std::size_t;

struct Route {
    NodeId destination = 0;
    std::vector<Link*> links;
};

struct NetworkCounters {
    std::uint64_t unroutable = 0;    ///< to an address that nobody has (any more), when sent
    std::uint64_t dead_mapping = 0;  ///< the NAT mapping went while the packet was under way
    std::uint64_t filtered = 0;      ///< taken out by the filter
    std::uint64_t injected = 0;
    friend bool operator==(const NetworkCounters&, const NetworkCounters&) = default;
};

class Network final : PacketReceiver {
  public:
    Network(EventQueue& events, std::uint64_t seed) : events_(events), seed_(seed) {}

    NodeId add_node(std::string name, const Address& address, Host* host);
    Link& add_link(std::string name, LinkParams params);
    /// Packets from one node to the other pass these links in order. A link may be part of several routes.
    void connect(NodeId from, NodeId to, std::initializer_list<Link*> links);
    /// One more address of the node, behind no NAT.
    void add_address(NodeId node, const Address& address) { by_outer_[address] = node; }
    /// The route between two addresses, where it is not that of the nodes.
    void connect(const Address& from, const Address& to, std::initializer_list<Link*> links);

    /// `from` without a family: the node's first address.
    void send(NodeId node, const Address& from, const Address& to, std::span<const std::byte> data);
    void send(NodeId node, const Address& to, std::span<const std::byte> data) { send(node, {}, to, data); }
    /// The NAT in front of `node` gives it a new outer address; the old mapping dies at once.
    void rebind(NodeId node, const Address& outer);
    [[nodiscard]] const Address& outer_address(NodeId node) const { return nodes_[node].outer; }
    [[nodiscard]] const std::string& name(NodeId node) const { return nodes_[node].name; }

    /// An attacker beside the target: arrives `after` from now without passing a link, with any source address.
    void inject(Duration after, const Address& from, const Address& to, std::vector<std::byte> data);

    /// Sees every packet as it leaves a host (outer addresses); false takes it out.
    using Filter = std::function<bool(Instant now, NodeId from, const Packet& packet)>;
    void set_filter(Filter filter) { filter_ = std::move(filter); }

    /// Bytes that packets take, under way and idle.
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
