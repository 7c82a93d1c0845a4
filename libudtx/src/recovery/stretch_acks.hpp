// What a window-based controller hears of an ACK that stands for many: one ACK a packet, each when a wide way back
// would have carried it (AckRegenerator), so that its window opens, and packets leave, as steadily as they arrived.
//
// Only the controller waits for it. What the ACK says of losses, round trips and data counts at once.
#pragma once

#include <cstdint>
#include <optional>

#include "recovery/ack_regenerator.hpp"
#include "udtx/ids.hpp"
#include "udtx/time.hpp"

namespace udtx::recovery {

class StretchAcks {
  public:
    static constexpr Duration kStep = std::chrono::milliseconds(1);  ///< acknowledgements of so long are told together

    struct Acked {
        std::uint64_t bytes = 0;
        std::uint32_t packets = 0;
    };

    void on_sent(PacketNumber number) { regenerator_.on_data(number, number + 1); }
    /// This one goes again: the sender's time-out.
    void on_repeat(PacketNumber number) { regenerator_.on_data(number, number + 1); }
    /// An ACK up to `largest`; `stretched`: it is one of few. What the controller hears now: all that was still kept
    /// back, since nothing may be overtaken, and of `acked` the first, or all while the controller does not probe.
    [[nodiscard]] Acked on_ack(Instant now, PacketNumber largest, Acked acked, bool stretched);
    /// When more is due; none when nothing is kept back.
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] Acked take_due(Instant now);
    [[nodiscard]] const Acked& kept_back() const noexcept { return kept_; }
    [[nodiscard]] bool probing() const noexcept { return regenerator_.probing(); }

  private:
    AckRegenerator regenerator_;
    std::optional<PacketNumber> newest_;
    Acked all_;   // of the ACK that is being told
    Acked kept_;  // of it
    Instant told_;
    Instant from_;
    Duration spacing_{};
};

}  // namespace udtx::recovery
