// Lines and their faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/link.hpp"
#include "soak/dice.hpp"
#include "udtx/rate.hpp"

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
    rate,            ///< value: factor of the rate
    bloat,           ///< value: seconds of queue
    thin,            ///< value: factor of the rate, with a queue in proportion
    mtu,             ///< value: UDP payload
    rebind_port,     ///< the client's NAT uses another port
    rebind_address,  ///< the client's NAT uses another port and address
    sleep_client,    ///< the machine is suspended
    sleep_server,
    kill_client,  ///< the process is killed; another one starts when the time is over
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

    /// True for a fault of a line, false for a fault of an end.
    [[nodiscard]] bool of_line() const noexcept { return kind < FaultKind::rebind_port; }
    [[nodiscard]] std::string text() const;
};

/// Draws the faults of a script of this length.
[[nodiscard]] std::vector<Fault> draw_faults(Dice& dice, const std::vector<Line>& lines, Duration length,
                                             bool hours_long);
/// Applies the fault to the line.
void apply(const Fault& fault, Line& line);

/// True if data has to get through this line: it has no blackout, and more than six of ten packets arrive in each
/// direction.
[[nodiscard]] bool works(const Line& line) noexcept;
/// Longest time until an application receives a byte over a line that works. It covers several round trips with queued
/// packets, lost probes, and packets that are sent rarely.
[[nodiscard]] Duration patience(const Line& line) noexcept;

}  // namespace udtx::soak
