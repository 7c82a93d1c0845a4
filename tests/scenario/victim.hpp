// A host that never requested any packets.
#pragma once

#include <cstdint>
#include <span>

#include "sim/scenario.hpp"

namespace udtx::sim {

/// Counts the packets that reach it.
class Victim final : public Host {
  public:
    explicit Victim(Scenario& s) : address_(make_address(66, 6666)) {
        const NodeId node = s.network().add_node("victim", address_, this);
        s.network().connect(s.server().node(), node, {&s.network().add_link("server to victim", {})});
        s.network().connect(s.client().node(), node, {&s.network().add_link("client to victim", {})});
    }
    void on_datagram(Instant, const Address&, const Address&, std::span<std::byte> data, proto::Ecn) override {
        ++datagrams;
        bytes += data.size();
    }
    [[nodiscard]] const Address& address() const noexcept { return address_; }
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;

  private:
    Address address_;
};

}  // namespace udtx::sim
