// A datagram in flight, and the pool that recycles its memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/rate.hpp"

namespace udtx::sim {

struct Route;

struct Packet {
    Address from;
    Address to;
    std::vector<std::byte> data;
    proto::Ecn ecn = proto::Ecn::not_ect;
    const Route* route = nullptr;
    std::size_t hop = 0;
};

using PacketPtr = std::unique_ptr<Packet>;

class PacketPool {
  public:
    [[nodiscard]] PacketPtr make(const Address& from, const Address& to, std::span<const std::byte> data,
                                 proto::Ecn ecn = proto::Ecn::not_ect) {
        PacketPtr p;
        if (idle_.empty()) {
            p = std::make_unique<Packet>();
            memory_ += kPacketMemory;
        } else {
            p = std::move(idle_.back());
            idle_.pop_back();
        }
        p->from = from;
        p->to = to;
        memory_ -= p->data.capacity();
        p->data.assign(data.begin(), data.end());
        memory_ += p->data.capacity();
        p->ecn = ecn;
        p->route = nullptr;
        p->hop = 0;
        return p;
    }
    void give_back(PacketPtr packet) { idle_.push_back(std::move(packet)); }

    /// Bytes of all packets, idle ones included.
    [[nodiscard]] std::size_t memory() const noexcept { return memory_; }

  private:
    static constexpr std::size_t kPacketMemory = 2 * sizeof(Packet);  // includes the packet's places in queues

    std::vector<PacketPtr> idle_;
    std::size_t memory_ = 0;
};

class PacketReceiver {
  public:
    virtual ~PacketReceiver() = default;
    virtual void on_packet(Instant now, PacketPtr packet) = 0;
};

}  // namespace udtx::sim
