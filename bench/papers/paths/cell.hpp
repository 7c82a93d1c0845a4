// One cell of the multipath papers' experiments: what goes over which lines, and what happens to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace udtx::papers::paths {

// Sender --access-- router --line-- receiver, one such chain a path. The access is as fast as the line and has no
// delay: what the sender alone has too much waits there, what it shares with other traffic in the router.
struct Line {
    double mbps = 10.0;
    double delay_ms = 10.0;            ///< one way
    std::uint32_t queue = 100;         ///< packets, of the router
    std::uint32_t access_queue = 100;  ///< packets, of the sender
};

/// UDP through a router to the receiver: at `peak_mbps` of the line or silent, for times drawn at random.
struct CrossTraffic {
    std::size_t line = 0;
    double from_s = 0.0;
    double to_s = 0.0;
    double peak_mbps = 0.0;
    double mean_mbps = 0.0;
};

/// A line's delay goes in a straight line from what it was to `delay_ms`.
struct Ramp {
    std::size_t line = 0;
    double from_s = 0.0;
    double to_s = 0.0;
    double delay_ms = 0.0;
};

/// Each packet on the line, either way, is damaged with probability `rate`.
struct Errors {
    std::size_t line = 0;
    double from_s = 0.0;
    double to_s = 0.0;
    double rate = 0.0;
};

struct Cell {
    std::string controller = "lia";
    std::string scheduler = "eds";
    bool reinject = true;
    bool couple = true;     ///< false: each path's controller is alone
    bool failover = false;  ///< all paths but the first are standby
    bool silent_path_rule = true;
    std::uint32_t payload = 1400;  ///< UDP payload of a full packet
    std::uint32_t window = 3000;   ///< receive buffer, full packets
    std::vector<Line> lines{};
    std::vector<CrossTraffic> cross{};
    std::vector<Ramp> ramps{};
    std::vector<Errors> errors{};
    double seconds = 60.0;
    std::uint64_t seed = 1;  ///< of the protocol, the cross traffic and the errors

    /// Stream bytes in a full packet: the rest are udtx's header, the frame's and the AEAD's tag.
    [[nodiscard]] std::uint32_t stream_bytes() const noexcept { return payload - 38; }
};

/// "mbps=10,delay_ms=5": each throws std::invalid_argument for what it does not know.
[[nodiscard]] Line parse_line(std::string_view text);
[[nodiscard]] CrossTraffic parse_cross(std::string_view text);
[[nodiscard]] Ramp parse_ramp(std::string_view text);
[[nodiscard]] Errors parse_errors(std::string_view text);
/// What is wrong with the cell, if anything.
[[nodiscard]] std::optional<std::string> fault_of(const Cell& cell);

}  // namespace udtx::papers::paths
