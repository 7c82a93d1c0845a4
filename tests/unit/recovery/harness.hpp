// The sender's half of one packet-number space for tests: packets of fixed size, ACK frames from lists of ranges.
#pragma once

#include <initializer_list>

#include "recovery/loss_recovery.hpp"

namespace udtx::recovery {

struct Harness {
    explicit Harness(Duration max_ack_delay = std::chrono::milliseconds(25), PacketNumber first = 0)
        : recovery(max_ack_delay, first) {}

    PacketNumber send(Instant now, std::uint32_t bytes = 1000, bool eliciting = true) {
        SentPacket packet;
        packet.number = recovery.next_number();
        packet.sent = now;
        packet.bytes = bytes;
        packet.ack_eliciting = eliciting;
        packet.in_flight = eliciting;
        recovery.on_sent(packet);
        return packet.number;
    }
    void send_many(Instant now, int count) {
        for (int i = 0; i < count; ++i) send(now);
    }
    /// Processes an ACK. The ranges start with the newest.
    Result<void> ack(Instant now, std::initializer_list<wire::AckRange> ranges, Duration delay = Duration::zero()) {
        wire::AckFrame frame;
        for (const auto& range : ranges) frame.ranges[frame.count++] = range;
        return recovery.on_ack(now, frame, delay, out);
    }

    LossRecovery recovery;
    Outcome out;
};

}  // namespace udtx::recovery
