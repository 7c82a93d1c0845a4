// Moves packets between two TUN devices over two modelled links, one per direction, on one thread.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <vector>

#include "delivery_queue.hpp"
#include "lateness.hpp"
#include "line.hpp"
#include "trace.hpp"
#include "tun_device.hpp"

namespace udtx::wan {

class Emulator {
  public:
    Emulator(TunDevice a, TunDevice b, Line down, Line up, Trace trace, Instant start);

    /// Runs until a signal handler sets `stop`.
    void run(const volatile std::sig_atomic_t& stop);

    [[nodiscard]] const Line& down() const noexcept { return down_.line; }
    [[nodiscard]] const Line& up() const noexcept { return up_.line; }
    [[nodiscard]] const Lateness& lateness() const noexcept { return lateness_; }
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

  private:
    static constexpr std::size_t kMaxPacket = 2048;

    struct Packet {
        std::uint32_t size = 0;
        FlowId flow = 0;
        std::byte data[kMaxPacket];
    };
    using PacketPtr = std::unique_ptr<Packet>;
    struct Direction {
        TunDevice& from;
        TunDevice& to;
        std::size_t host_at;  ///< offset of the far host's address in the IPv4 header
        Line line;
        DeliveryQueue<PacketPtr> on_the_way{};
    };

    [[nodiscard]] PacketPtr take_packet();
    void give_back(PacketPtr packet);
    bool accept(Direction& direction);
    void deliver(Direction& direction);
    void wait(Instant until);
    void sample_if_due();

    TunDevice a_;
    TunDevice b_;
    Direction down_;
    Direction up_;
    Trace trace_;
    Instant start_;
    Instant next_sample_;
    Instant woke_up_;
    std::vector<PacketPtr> free_;
    Lateness lateness_;
    std::uint64_t refused_ = 0;
};

}  // namespace udtx::wan
