// Views of paths and demands of streams for tests of schedulers.
#pragma once

#include <cstdint>

#include "udtx/scheduler.hpp"

namespace udtx::multipath::test {

inline constexpr std::uint32_t kDatagram = 1400;

/// A path of `mbps` and `rtt` without a queue that may send.
inline PathView view(std::uint8_t id, double mbps, Duration rtt) {
    PathView v;
    v.id = PathId{id};
    v.rate = Rate::bits_per_second(mbps * 1e6);
    v.smoothed_rtt = rtt;
    v.min_rtt = rtt;
    v.datagram_bytes = kDatagram;
    v.window = static_cast<std::uint64_t>(v.rate.bytes_in(rtt)) + 4 * kDatagram;
    return v;
}

/// A long stream of which nothing has been sent, with a receive window of `window` bytes.
inline StreamDemand demand(StreamKind kind, std::uint64_t window = 64U << 20U) {
    StreamDemand d;
    d.kind = kind;
    d.written = 1ULL << 40U;
    d.remaining = d.written;
    d.limit = window;
    d.receive_window = window;
    return d;
}

}  // namespace udtx::multipath::test
