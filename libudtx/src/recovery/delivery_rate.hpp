// Delivery rate of a path: bytes acknowledged per time, robust against ACK compression
// (draft-cheng-iccrg-delivery-rate-estimation, sections 3.2 and 3.3).
#pragma once

#include <cstdint>
#include <optional>

#include "recovery/sent_packet.hpp"
#include "udtx/congestion.hpp"

namespace udtx::recovery {

class DeliveryRate {
  public:
    /// Stamps the packet with the state at its departure. `in_flight`: bytes in flight before this packet.
    void on_sent(SentPacket& packet, std::uint64_t in_flight);
    /// Counts a newly acknowledged packet.
    void on_acked(const SentPacket& packet, Instant now);
    /// Call it after all packets of one ACK frame. Returns the sample, if there is one.
    [[nodiscard]] std::optional<DeliverySample> take_sample(Duration min_rtt);
    /// The application has no more data while `in_flight` bytes are in flight. Samples are marked until these are
    /// acknowledged.
    void set_application_limited(std::uint64_t in_flight);
    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }

  private:
    /// State of the most recently sent packet among those acknowledged by one frame.
    struct Newest {
        PacketNumber number = 0;
        std::uint64_t delivered = 0;
        bool application_limited = false;
        Duration send_elapsed{};
        Duration ack_elapsed{};
    };

    std::uint64_t delivered_ = 0;
    Instant delivered_time_;
    Instant first_sent_time_;
    std::uint64_t limited_until_ = 0;  // value of delivered_ up to which samples are marked; 0 = not limited
    std::optional<Newest> newest_;
};

}  // namespace udtx::recovery
