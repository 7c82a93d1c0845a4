#include "sim/tcp_flow.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace udtx::sim {

namespace {
constexpr std::uint64_t kDuplicates = 3;
constexpr std::uint64_t kSend = 0;  // tags of events
constexpr std::uint64_t kTick = 1;
constexpr Duration kTickTime = std::chrono::milliseconds(50);
constexpr double kMinTimeout = 0.2;  // s, added to the RTT: Linux's minimum RTO
constexpr std::size_t kAckBytes = 24;
}  // namespace

TcpFlow::TcpFlow(EventQueue& events, Network& network, const Setup& setup)
    : events_(events),
      network_(network),
      source_address_(setup.source),
      sink_address_(setup.sink),
      control_(setup.seed),
      data_(kPayload) {
    source_.flow = sink_.flow = this;
    sink_.is_sink = true;
    source_.node = network.add_node(setup.name + " source", setup.source, &source_);
    sink_.node = network.add_node(setup.name + " sink", setup.sink, &sink_);
}

void TcpFlow::End::on_datagram(Instant now, const Address& /*local*/, const Address& /*remote*/,
                               std::span<std::byte> data, proto::Ecn /*ecn*/) {
    if (is_sink) {
        flow->on_segment(data);
        return;
    }
    std::uint64_t number = 0;
    std::memcpy(&number, data.data(), sizeof number);
    flow->on_ack(now, number);
}

void TcpFlow::start() {
    delivered_at_ = first_sent_ = progress_ = next_send_ = events_.now();
    events_.schedule(events_.now() + kTickTime, *this, kTick);
    send_what_fits(events_.now());
}

void TcpFlow::on_segment(std::span<const std::byte> data) {
    counters_.received += kSegment;
    network_.send(sink_.node, source_address_, data.first(kAckBytes));
}

void TcpFlow::on_due(Instant now, std::uint64_t tag) {
    if (stopped_) return;
    if (tag == kSend) {
        send_scheduled_ = false;
    } else {
        check_timeout(now);
        events_.schedule(now + kTickTime, *this, kTick);
    }
    send_what_fits(now);
}

void TcpFlow::on_ack(Instant now, std::uint64_t number) {
    if (stopped_ || number < first_) return;
    Segment& segment = segments_[number - first_];
    if (segment.fate != Fate::flying) return;
    segment.fate = Fate::acknowledged;
    TcpAck ack{.now = now, .prior_in_flight = in_flight_, .acked = 1};
    --in_flight_;
    largest_acked_ = std::max(largest_acked_, number);
    ++delivered_;
    delivered_at_ = progress_ = now;
    first_sent_ = segment.sent;
    ack.rtt = to_seconds(now - segment.sent);
    update_rtt(ack.rtt);
    ack.rate = rate_sample(now, segment);
    ack.prior_delivered = segment.delivered;
    ack.delivered = delivered_;
    ack.rate_limited = segment.limited;
    ack.lost = find_lost();
    ack.in_flight = in_flight_;
    follow_recovery(ack.lost);
    ack.in_recovery = in_recovery_;
    control_.on_ack(ack);
    if (control_.probing_rtt()) limited_until_ = delivered_ + in_flight_;
    send_what_fits(now);
}

double TcpFlow::rate_sample(Instant now, const Segment& segment) {
    const double sending = to_seconds(segment.sent - segment.first_sent);
    const double arriving = to_seconds(now - segment.delivered_at);
    const double interval = std::max(sending, arriving);
    return interval > 0.0 ? static_cast<double>(delivered_ - segment.delivered) / interval : 0.0;
}

std::uint32_t TcpFlow::find_lost() {
    std::uint32_t lost = 0;
    for (std::size_t i = 0; i < segments_.size() && first_ + i + kDuplicates <= largest_acked_; ++i) {
        if (segments_[i].fate != Fate::flying) continue;
        segments_[i].fate = Fate::lost;
        --in_flight_;
        ++lost;
    }
    while (!segments_.empty() && segments_.front().fate != Fate::flying) {
        segments_.pop_front();
        ++first_;
    }
    counters_.lost_packets += lost;
    return lost;
}

// Recovery lasts until the lost data has been retransmitted and acknowledged.
void TcpFlow::follow_recovery(std::uint32_t lost) {
    const std::uint64_t next = first_ + segments_.size();
    if (lost > 0) {
        if (!in_recovery_) control_.on_recovery();
        in_recovery_ = true;
        recovery_until_ = next + lost;
    } else if (in_recovery_ && largest_acked_ >= recovery_until_) {
        in_recovery_ = false;
    }
}

void TcpFlow::update_rtt(double rtt) {
    if (srtt_ <= 0.0) {
        srtt_ = rtt;
        rtt_variance_ = rtt / 2.0;
        return;
    }
    rtt_variance_ += (std::abs(rtt - srtt_) - rtt_variance_) / 4.0;
    srtt_ += (rtt - srtt_) / 8.0;
}

void TcpFlow::check_timeout(Instant now) {
    const double timeout = srtt_ > 0.0 ? srtt_ + std::max(4.0 * rtt_variance_, kMinTimeout) : 1.0;
    if (in_flight_ == 0 || to_seconds(now - progress_) < timeout) return;
    progress_ = now;
    counters_.lost_packets += in_flight_;
    in_flight_ = 0;
    first_ += segments_.size();
    segments_.clear();
    in_recovery_ = true;
    recovery_until_ = first_;
    control_.on_timeout();
}

void TcpFlow::send_what_fits(Instant now) {
    while (!stopped_ && static_cast<double>(in_flight_) < control_.window()) {
        if (now < next_send_) {
            if (!send_scheduled_) events_.schedule(next_send_, *this, kSend);
            send_scheduled_ = true;
            return;
        }
        // Sends one TSO burst: the data of a millisecond at the pacing rate.
        const auto burst = static_cast<std::uint64_t>(control_.burst());
        std::uint64_t sent = 0;
        for (; sent < burst && static_cast<double>(in_flight_) < control_.window(); ++sent) send_segment(now);
        next_send_ = std::max(now, next_send_) + from_seconds(static_cast<double>(sent) / control_.pacing_rate());
    }
}

void TcpFlow::send_segment(Instant now) {
    if (in_flight_ == 0) delivered_at_ = first_sent_ = now;
    const std::uint64_t number = first_ + segments_.size();
    segments_.push_back({.sent = now,
                         .first_sent = first_sent_,
                         .delivered_at = delivered_at_,
                         .delivered = delivered_,
                         .limited = delivered_ < limited_until_});
    ++in_flight_;
    ++counters_.sent_packets;
    std::memcpy(data_.data(), &number, sizeof number);
    network_.send(source_.node, sink_address_, data_);
}

}  // namespace udtx::sim
