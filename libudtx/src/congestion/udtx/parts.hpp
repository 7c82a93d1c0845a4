// The mechanisms of udtx, each with a switch: what one alone is worth is measured without it (docs/lab/ablation.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace udtx::congestion {

enum class UdtxPart : std::uint8_t {
    rest,        ///< who is alone keeps more of a queue
    fill,        ///< an empty queue makes x grow
    drain,       ///< two seconds after the shortest queue all send less
    refill,      ///< after a drain the queue comes back at once
    compete,     ///< a window like CUBIC's beside rivals
    claim,       ///< the fair share beside those that pause
    remorse,     ///< competing that ended too early goes on
    trial,       ///< half the rate, to see whether loss is random
    blame,       ///< after a trial that found congestion every loss is
    heavy_loss,  ///< heavy loss that no trial has found random holds x down
    loss,        ///< p_c lowers the share
    jitter,      ///< delays that jump without a queue are none
    ends,        ///< the window where the ends are slower than the line
    hold,        ///< a newcomer does not yield to the queue that it made itself
    sole,        ///< a start that was alone is not taken for one into a crowd
    half_start,  ///< the ramp begins at C/2, not at C/8
    shallow,     ///< in a shallow buffer nobody is taken for a rival
    tiers,       ///< C follows a slower line the faster, the higher the congestion degree
    pace,        ///< the pace answers the queue at once
    two_speeds,  ///< differences between flows settle faster than what all do
    cap,         ///< x is at most 1.25 of what was delivered
    longer_way,  ///< a queue that stands still is a longer way
    hold_base,   ///< the base delay is kept while others keep up the queue
};

inline constexpr std::array kUdtxParts = std::to_array<std::string_view>(
    {"rest",    "fill",       "drain", "refill",     "compete", "claim",      "remorse",  "trial",
     "blame",   "heavy-loss", "loss",  "jitter",     "ends",    "hold",       "sole",     "half-start",
     "shallow", "tiers",      "pace",  "two-speeds", "cap",     "longer-way", "hold-base"});

/// All of them, less those taken out.
class UdtxParts {
  public:
    [[nodiscard]] constexpr UdtxParts without(UdtxPart part) const {
        UdtxParts out = *this;
        out.off_ |= 1U << static_cast<unsigned>(part);
        return out;
    }
    [[nodiscard]] constexpr bool has(UdtxPart part) const { return (off_ >> static_cast<unsigned>(part) & 1U) == 0; }

  private:
    std::uint32_t off_ = 0;
};

}  // namespace udtx::congestion
