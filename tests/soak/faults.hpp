// Lines and what goes wrong on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/link.hpp"
#include "soak/dice.hpp"
#include "udtx/time.hpp"

namespace udtx::soak {

struct Line {
    sim::LinkParams up;    ///< client to server
    sim::LinkParams down;  ///< server to client
};

enum class FaultKind : std::uint8_t {
    loss,            ///< value: probability
    bursts,          ///< value: mean length in packets
    reordering,      ///< value: probability; by up to an RTT
    duplicates,      ///< value: probability
    corruption,      ///< value: probability
    blackout,        ///< nothing passes
    blackouts,       ///< 2 s in every 7
    rate,            ///< value: factor
    bloat,           ///< value: seconds of queue
    thin,            ///< value: factor of the rate, with a queue to match
    mtu,             ///< value: UDP payload
    rebind_port,     ///< the client's NAT takes another port
    rebind_address,  ///< and another address
    sleep_client,    ///< the machine is suspended
    sleep_server,
    kill_client,  ///< the process is gone, and another one comes when the time is over
    kill_server,
};
[[nodiscard]] const char* to_string(FaultKind kind) noexcept;

struct Fault {
    FaultKind kind = FaultKind::loss;
    std::size_t line = 0;
    bool up = true;
    bool down = true;
    Duration from{};
    Duration length{};
    double value = 0.0;

    /// Of the line, not of an end.
    [[nodiscard]] bool of_line() const noexcept { return kind < FaultKind::rebind_port; }
    [[nodiscard]] std::string text() const;
};

/// What a script of this length has go wrong.
[[nodiscard]] std::vector<Fault> draw_faults(Dice& dice, const std::vector<Line>& lines, Duration length,
                                             bool hours_long);
/// The line with that fault.
void apply(const Fault& fault, Line& line);

/// A line that data has to get through: nothing is dark, and of ten packets more than six arrive, each way.
[[nodiscard]] bool works(const Line& line) noexcept;
/// So long may it take until an application sees a byte over a line that works: time for several round trips of
/// packets that queue, for probes that are lost, and for what is sent seldom.
[[nodiscard]] Duration patience(const Line& line) noexcept;

}  // namespace udtx::soak
