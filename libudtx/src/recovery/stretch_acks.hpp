// Presents an ACK that stands for many to a window-based controller as one ACK per packet. Each is reported when a wide
// return path would have delivered it (AckRegenerator). So the window opens, and packets leave, as steadily as they
// arrived.
//
// Only the controller waits. What the ACK says of losses, round trips and data counts at once.
#pragma once

#include <cstdint>
#include <optional>

#include "recovery/ack_regenerator.hpp"
#include "udtx/ids.hpp"
#include "udtx/time.hpp"

namespace udtx::recovery {

class StretchAcks {
  public:
    static constexpr Duration kStep = std::chrono::milliseconds(1);  ///< time of ACKs that are reported together

    struct Acked {
        std::uint64_t bytes = 0;
        std::uint32_t packets = 0;
    };

    void on_sent(PacketNumber number) { regenerator_.on_data(number, number + 1); }
    /// The number is sent again: the sender had a timeout.
    void on_repeat(PacketNumber number) { regenerator_.on_data(number, number + 1); }
    /// An ACK up to `largest` arrives. `stretched`: ACKs are sparse. Returns what the controller is told now. That is
    /// everything still held back, to keep the order, and the first part of `acked` (all of it while the controller
    /// does not probe).
    [[nodiscard]] Acked on_ack(Instant now, PacketNumber largest, Acked acked, bool stretched);
    /// When more is due; nullopt if nothing is held back.
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] Acked take_due(Instant now);
    [[nodiscard]] const Acked& kept_back() const noexcept { return kept_; }
    [[nodiscard]] bool probing() const noexcept { return regenerator_.probing(); }

  private:
    AckRegenerator regenerator_;
    std::optional<PacketNumber> newest_;
    Acked all_;   // of the ACK that is being reported
    Acked kept_;  // the part of all_ that is still held back
    Instant told_;
    Instant from_;
    Duration spacing_{};
};

}  // namespace udtx::recovery
