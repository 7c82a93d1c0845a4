// One cell of the multipath papers' experiments: the connection, its links, and the changes to the links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace udtx::papers::paths {

// Each path is a chain: sender --access-- router --line-- receiver. The access link is as fast as the line and has no
// delay. The sender's own excess waits in the access queue. Where it competes with other traffic, it waits in the
// router.
struct Line {
    double mbps = 10.0;
    double delay_ms = 10.0;            ///< one way
    std::uint32_t queue = 100;         ///< packets in the router's queue
    std::uint32_t access_queue = 100;  ///< packets in the sender's queue
};

/// UDP traffic through a router to the receiver. It alternates between `peak_mbps` on the line and silence; the
/// durations are drawn at random.
struct CrossTraffic {
    std::size_t line = 0;
    double from_s = 0.0;
    double to_s = 0.0;
    double peak_mbps = 0.0;
    double mean_mbps = 0.0;
};

/// Changes a line's delay linearly from its present value to `delay_ms`.
struct Ramp {
    std::size_t line = 0;
    double from_s = 0.0;
    double to_s = 0.0;
    double delay_ms = 0.0;
};

/// Damages each packet on the line, in both directions, with probability `rate`.
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
    bool couple = true;     ///< false: the paths' controllers work independently
    bool failover = false;  ///< all paths but the first are standby
    bool silent_path_rule = true;
    std::uint32_t payload = 1400;  ///< UDP payload of a full packet
    std::uint32_t window = 3000;   ///< receive buffer, full packets
    std::vector<Line> lines{};
    std::vector<CrossTraffic> cross{};
    std::vector<Ramp> ramps{};
    std::vector<Errors> errors{};
    double seconds = 60.0;
    std::uint64_t seed = 1;  ///< seed of the protocol, the cross traffic and the errors

    /// Stream bytes in a full packet. The other 38 bytes are udtx's header, the frame's header and the AEAD tag.
    [[nodiscard]] std::uint32_t stream_bytes() const noexcept { return payload - 38; }
};

/// Parses "mbps=10,delay_ms=5". Each parser throws std::invalid_argument if it does not know a field.
[[nodiscard]] Line parse_line(std::string_view text);
[[nodiscard]] CrossTraffic parse_cross(std::string_view text);
[[nodiscard]] Ramp parse_ramp(std::string_view text);
[[nodiscard]] Errors parse_errors(std::string_view text);
/// Describes the cell's first fault. Returns nothing if the cell is valid.
[[nodiscard]] std::optional<std::string> fault_of(const Cell& cell);

}  // namespace udtx::papers::paths
