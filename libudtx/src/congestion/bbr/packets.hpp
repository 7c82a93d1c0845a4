// State that BBR keeps of each packet from its departure on (draft-ietf-ccwg-bbr, section 5.2), and the rate sample of
// an ACK.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Totals of the connection when the packet left, and bytes in flight including it; bytes.
struct BbrPacket {
    PacketNumber number = 0;
    Instant sent;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    std::uint64_t in_flight = 0;
    double pace = 1.0;        ///< pacing rate / bandwidth
    bool restrained = false;  ///< sent during ProbeRTT: counts like an application with little to send
};

class BbrPackets {
  public:
    void on_sent(const BbrPacket& packet) { packets_.push_back(packet); }
    /// Null for a number that did not count as in flight or was forgotten.
    [[nodiscard]] const BbrPacket* find(PacketNumber number) const {
        const auto at =
            std::lower_bound(packets_.begin(), packets_.end(), number,
                             [](const BbrPacket& packet, PacketNumber wanted) { return packet.number < wanted; });
        return at != packets_.end() && at->number == number ? &*at : nullptr;
    }
    /// Forgets packets before `number` that left before `sent`: by now they are acknowledged or lost.
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
    double delivery_rate = 0.0;           ///< 0: no sample
    double pace = 1.0;                    ///< of the newest acknowledged packet
    std::uint64_t delivered = 0;          ///< since the newest acknowledged packet left
    std::uint64_t prior_delivered = 0;    ///< total when that packet left
    std::uint64_t in_flight_at_send = 0;  ///< including that packet
    std::uint64_t lost = 0;               ///< since that packet left
    std::uint64_t newly_acked = 0;
    std::uint64_t in_flight = 0;  ///< now
    bool application_limited = false;
};

}  // namespace udtx::congestion
