// The mechanisms of udtx, each with a switch. Without one, the benefit of that mechanism can be measured
// (docs/lab/ablation.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace udtx::congestion {

enum class UdtxPart : std::uint8_t {
    rest,        ///< a flow alone keeps a longer queue
    fill,        ///< an empty queue makes x grow
    drain,       ///< all flows send less two seconds after the shortest queue
    refill,      ///< after a drain the queue is restored at once
    compete,     ///< a window like CUBIC's beside rivals
    claim,       ///< the fair share beside rivals that pause
    remorse,     ///< competing that ended too early resumes
    trial,       ///< half the rate, to see whether loss is random
    blame,       ///< after a trial that found congestion, every loss is congestion
    heavy_loss,  ///< heavy loss bounds x, unless a trial found it random
    loss,        ///< p_c lowers the share
    jitter,      ///< delays that jump without a queue do not count as one
    ends,        ///< fits the window if the hosts are slower than the link
    hold,        ///< a new flow ignores the queue that it made itself
    sole,        ///< a start alone on the link does not count as a start beside others
    half_start,  ///< the ramp begins at C/2, not at C/8
    shallow,     ///< in a shallow buffer, a long queue alone shows no rival
    tiers,       ///< C follows a slower link faster at a higher congestion degree
    pace,        ///< the pacing rate reacts to the queue at once
    two_speeds,  ///< differences between flows settle faster than changes of all
    cap,         ///< x is at most 1.25 of what was delivered
    longer_way,  ///< a queue that does not vary is a longer path
    hold_base,   ///< the base delay is kept while others keep up the queue
};

inline constexpr std::array kUdtxParts = std::to_array<std::string_view>(
    {"rest",    "fill",       "drain", "refill",     "compete", "claim",      "remorse",  "trial",
     "blame",   "heavy-loss", "loss",  "jitter",     "ends",    "hold",       "sole",     "half-start",
     "shallow", "tiers",      "pace",  "two-speeds", "cap",     "longer-way", "hold-base"});

/// All mechanisms except those taken out.
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
