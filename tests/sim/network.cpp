#include "sim/network.hpp"

#include <cassert>

namespace udtx::sim {

Address make_address(std::uint8_t last, std::uint16_t port) {
    Address a;
    a.family = Address::Family::v4;
    a.port = port;
    a.ip[0] = 10;
    a.ip[3] = last;
    return a;
}

NodeId Network::add_node(std::string name, const Address& address, Host* host) {
    const NodeId id = nodes_.size();
    nodes_.push_back({std::move(name), address, address, host});
    by_outer_[address] = id;
    return id;
}

Link& Network::add_link(std::string name, LinkParams params) {
    std::uint64_t part = links_.size() + 1;
    const std::uint64_t link_seed = seed_ ^ splitmix64(part);
    links_.push_back(std::make_unique<Link>(std::move(name), events_, pool_, std::move(params), link_seed));
    links_.back()->set_receiver(this);
    return *links_.back();
}

void Network::connect(NodeId from, NodeId to, std::initializer_list<Link*> links) {
    assert(links.size() > 0);
    routes_[{from, to}] = Route{to, links};
}

void Network::connect(const Address& from, const Address& to, std::initializer_list<Link*> links) {
    assert(links.size() > 0);
    address_routes_[{from, to}] = Route{by_outer_.at(to), links};
}

const Route* Network::route(NodeId from_node, const Address& from, const Address& to) const {
    if (const auto own = address_routes_.find({from, to}); own != address_routes_.end()) return &own->second;
    const auto node = by_outer_.find(to);
    if (node == by_outer_.end()) return nullptr;
    const auto between = routes_.find({from_node, node->second});
    return between == routes_.end() ? nullptr : &between->second;
}

void Network::send(NodeId node, const Address& from, const Address& to, std::span<const std::byte> data,
                   proto::Ecn ecn) {
    const Instant now = events_.now();
    const bool first = from.family == Address::Family::none || from == nodes_[node].inner;
    const Address& source = first ? nodes_[node].outer : from;
    PacketPtr packet = pool_.make(source, to, data, ecn);
    if (filter_ && !filter_(now, node, *packet)) {
        ++counters_.filtered;
        pool_.give_back(std::move(packet));
        return;
    }
    packet->route = route(node, source, to);
    if (packet->route == nullptr) {
        ++counters_.unroutable;
        pool_.give_back(std::move(packet));
        return;
    }
    packet->route->links.front()->send(now, std::move(packet));
}

void Network::rebind(NodeId node, const Address& outer) {
    by_outer_.erase(nodes_[node].outer);
    nodes_[node].outer = outer;
    by_outer_[outer] = node;
}

void Network::inject(Duration after, const Address& from, const Address& to, std::vector<std::byte> data) {
    events_.call_at(events_.now() + after, [this, from, to, bytes = std::move(data)] {
        const auto node = by_outer_.find(to);
        if (node == by_outer_.end()) {
            ++counters_.unroutable;
            return;
        }
        ++counters_.injected;
        deliver(events_.now(), node->second, pool_.make(from, to, bytes));
    });
}

void Network::on_packet(Instant now, PacketPtr packet) {
    const Route& route = *packet->route;
    const auto hop = ++packet->hop;
    if (hop < route.links.size()) {
        route.links[hop]->send(now, std::move(packet));
        return;
    }
    deliver(now, route.destination, std::move(packet));
}

void Network::deliver(Instant now, NodeId node, PacketPtr packet) {
    const auto owner = by_outer_.find(packet->to);
    if (owner == by_outer_.end() || owner->second != node) {
        ++counters_.dead_mapping;
    } else if (nodes_[node].host != nullptr) {
        const Address& local = packet->to == nodes_[node].outer ? nodes_[node].inner : packet->to;
        nodes_[node].host->on_datagram(now, local, packet->from, packet->data, packet->ecn);
    }
    pool_.give_back(std::move(packet));
}

}  // namespace udtx::sim
