// A receiving card that hands packets over by interrupts: what arrives between two of them arrives at one instant.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/packet.hpp"
#include "sim/prng.hpp"
#include "udtx/time.hpp"

namespace udtx::sim {

/// When the interrupts come (ethtool -C: rx-usecs, rx-frames, adaptive-rx).
struct Coalescing {
    Duration period{};         ///< between two interrupts; zero: each packet has its own
    std::uint32_t frames = 0;  ///< so many packets that wait cause one at once; 0: none do
    bool adaptive = false;     ///< the period falls to a sixteenth where few packets come
    /// Each period is drawn anew, uniform up to twice `period`: clumps as a radio or a busy host makes them.
    bool irregular = false;
};

class Card final : EventSink {
  public:
    Card(EventQueue& events, std::uint64_t seed)
        : events_(events), prng_(seed), phase_(static_cast<Duration::rep>(prng_.below(1'000'000'000))) {}

    void set_receiver(PacketReceiver* receiver) noexcept { receiver_ = receiver; }
    void take(Instant now, PacketPtr packet, const Coalescing& coalescing);

  private:
    static constexpr std::size_t kMany = 3;  // packets at an interrupt: an adaptive period grows
    static constexpr std::size_t kFew = 1;   // and falls

    void on_due(Instant now, std::uint64_t tag) override;
    void hand_over(Instant now);
    [[nodiscard]] Instant next_interrupt(Instant now);

    EventQueue& events_;
    Prng prng_;
    PacketReceiver* receiver_ = nullptr;
    Coalescing coalescing_;
    std::vector<PacketPtr> waiting_;
    Duration phase_{};             // of the beat
    Duration adapted_{};           // the period that the traffic has led to
    std::uint64_t interrupt_ = 0;  // the one to come; events of earlier ones are void
};

}  // namespace udtx::sim
