// What BBR remembers of each packet from its departure on (draft-ietf-ccwg-bbr, section 5.2), and what an ACK makes of
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Connection totals when the packet left, and what was in flight with it; bytes.
struct BbrPacket {
    PacketNumber number = 0;
    Instant sent;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    std::uint64_t in_flight = 0;
    double pace = 1.0;        ///< pacing rate / bandwidth
    bool restrained = false;  ///< by ProbeRTT: like an application that has little to send
};

class BbrPackets {
  public:
    void on_sent(const BbrPacket& packet) { packets_.push_back(packet); }
    /// Null for a number that did not count as in flight or is forgotten.
    [[nodiscard]] const BbrPacket* find(PacketNumber number) const {
        const auto at =
            std::lower_bound(packets_.begin(), packets_.end(), number,
                             [](const BbrPacket& packet, PacketNumber wanted) { return packet.number < wanted; });
        return at != packets_.end() && at->number == number ? &*at : nullptr;
    }
    /// Packets before `number` that left before `sent` are acknowledged or lost for sure.
    void forget(PacketNumber number, Instant sent) {
        while (!packets_.empty() && packets_.front().number < number && packets_.front().sent < sent)
            packets_.pop_front();
    }

  private:
    std::deque<BbrPacket> packets_;  // ascending numbers
};

/// Rate sample of one ACK (RS in the draft); rates in bytes/s.
struct BbrSample {
    Instant now;
    double delivery_rate = 0.0;           ///< 0: none could be made
    double pace = 1.0;                    ///< of the newest acknowledged packet
    std::uint64_t delivered = 0;          ///< since the newest acknowledged packet left
    std::uint64_t prior_delivered = 0;    ///< total when that packet left
    std::uint64_t in_flight_at_send = 0;  ///< with that packet
    std::uint64_t lost = 0;               ///< since that packet left
    std::uint64_t newly_acked = 0;
    std::uint64_t in_flight = 0;  ///< now
    bool application_limited = false;
};

}  // namespace udtx::congestion
