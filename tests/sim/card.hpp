// A receiving network card that hands packets over at interrupts. Packets that arrive between two interrupts reach the
// host at one instant.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/packet.hpp"
#include "sim/prng.hpp"
#include "udtx/rate.hpp"

namespace udtx::sim {

/// Interrupt coalescing (ethtool -C: rx-usecs, rx-frames, adaptive-rx).
struct Coalescing {
    Duration period{};         ///< between two interrupts; zero: each packet causes its own
    std::uint32_t frames = 0;  ///< this number of waiting packets causes an interrupt at once; 0: off
    bool adaptive = false;     ///< the period falls to a sixteenth while few packets arrive
    /// Draws each period again, uniform up to twice `period`. A radio or a busy host makes such bursts.
    bool irregular = false;
};

class Card final : EventSink {
  public:
    Card(EventQueue& events, std::uint64_t seed)
        : events_(events), prng_(seed), phase_(static_cast<Duration::rep>(prng_.below(1'000'000'000))) {}

    void set_receiver(PacketReceiver* receiver) noexcept { receiver_ = receiver; }
    void take(Instant now, PacketPtr packet, const Coalescing& coalescing);

  private:
    static constexpr std::size_t kMany = 3;  // this number of packets at an interrupt makes an adaptive period grow
    static constexpr std::size_t kFew = 1;   // this number makes it shrink

    void on_due(Instant now, std::uint64_t tag) override;
    void hand_over(Instant now);
    [[nodiscard]] Instant next_interrupt(Instant now);

    EventQueue& events_;
    Prng prng_;
    PacketReceiver* receiver_ = nullptr;
    Coalescing coalescing_;
    std::vector<PacketPtr> waiting_;
    Duration phase_{};             // phase of the periodic timer
    Duration adapted_{};           // the period that adaptive coalescing has reached
    std::uint64_t interrupt_ = 0;  // number of the next interrupt; events of earlier interrupts are void
};

}  // namespace udtx::sim
