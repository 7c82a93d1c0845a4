#include "recovery/delivery_rate.hpp"

#include <algorithm>

namespace udtx::recovery {

void DeliveryRate::on_sent(SentPacket& packet, std::uint64_t in_flight) {
    if (in_flight == 0) {
        first_sent_time_ = packet.sent;
        delivered_time_ = packet.sent;
    }
    packet.first_sent_time = first_sent_time_;
    packet.delivered_time = delivered_time_;
    packet.delivered = delivered_;
    packet.application_limited = limited_until_ != 0;
}

void DeliveryRate::on_acked(const SentPacket& packet, Instant now) {
    delivered_ += packet.bytes;
    delivered_time_ = now;
    if (newest_ && packet.number < newest_->number) return;
    newest_ = Newest{.number = packet.number,
                     .delivered = packet.delivered,
                     .application_limited = packet.application_limited,
                     .send_elapsed = packet.sent - packet.first_sent_time,
                     .ack_elapsed = now - packet.delivered_time};
    first_sent_time_ = packet.sent;
}

std::optional<DeliverySample> DeliveryRate::take_sample(Duration min_rtt) {
    if (limited_until_ != 0 && delivered_ > limited_until_) limited_until_ = 0;
    if (!newest_) return std::nullopt;
    const Newest newest = *newest_;
    newest_.reset();
    // The slower of the two phases bounds the rate. Sending bursts and compressed ACKs each shorten only one of them.
    const Duration interval = std::max(newest.send_elapsed, newest.ack_elapsed);
    if (interval <= Duration::zero() || interval < min_rtt) return std::nullopt;
    return DeliverySample{.rate = Rate::from_bytes(delivered_ - newest.delivered, interval),
                          .interval = interval,
                          .application_limited = newest.application_limited};
}

void DeliveryRate::set_application_limited(std::uint64_t in_flight) {
    limited_until_ = std::max<std::uint64_t>(delivered_ + in_flight, 1);
}

}  // namespace udtx::recovery
