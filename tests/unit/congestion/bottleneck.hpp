// Runs one controller on an ideal path, to observe its states: a drop-tail bottleneck, packets of 1,000 bytes, one
// acknowledgement per SYN for all that arrived. Losses are reported one round trip after the packet was sent. No
// protocol runs.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

class Bottleneck {
  public:
    static constexpr std::uint32_t kBytes = 1000;

    Bottleneck(CongestionController& controller, double packets_per_second, Duration rtt, double queue_packets)
        : controller_(controller), pps_(packets_per_second), rtt_(rtt), queue_(queue_packets) {}

    void set_rate(double packets_per_second) { pps_ = packets_per_second; }
    void set_rtt(Duration rtt) { rtt_ = rtt; }
    void set_sending(bool on) { sending_ = on; }
    /// Marks all samples as limited by the application, though it has data.
    void set_application_limited(bool on) { limited_ = on; }
    /// The path loses every n-th packet; 0: none.
    void lose_every(std::uint64_t n) { lose_every_ = n; }
    /// The path loses the next n packets.
    void lose_next(std::uint64_t n) { lose_before_ = next_ + n; }

    /// The queue has no limit. Packets that meet more than the limit arrive with a mark.
    void mark_instead() { mark_ = true; }

    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }
    [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
    [[nodiscard]] std::uint64_t lost_packets() const { return lost_packets_; }
    [[nodiscard]] std::uint64_t marked_packets() const { return marked_packets_; }
    [[nodiscard]] double longest_queue() const { return longest_queue_; }  ///< packets

    /// Calls `each` after each feedback, and stops early if it returns true.
    bool run(
        Duration time, const std::function<bool()>& each = [] { return false; }) {
        const Instant end = now_ + time;
        while (now_ < end) {
            now_ += kStep;
            send();
            if (now_.time_since_epoch() % kSynInterval == Duration::zero() && acknowledge() && each()) return true;
        }
        return false;
    }

  private:
    static constexpr Duration kStep = std::chrono::microseconds(500);
    struct Packet {
        PacketNumber number = 0;
        Instant sent;
        Instant back;  // when it is acknowledged or reported lost
        bool lost = false;
        bool marked = false;
        std::uint64_t delivered = 0;
        Instant delivered_time;
        Instant first_sent;
    };

    void send() {
        credit_ = controller_.pacing_rate().is_infinite()
                      ? 1e9
                      : std::min(credit_ + controller_.pacing_rate().bytes_in(kStep),
                                 4.0 * kBytes + controller_.pacing_rate().bytes_in(kStep));
        while (sending_ && credit_ >= kBytes && in_flight_ + kBytes <= controller_.window()) {
            credit_ -= kBytes;
            if (in_flight_ == 0) first_sent_ = delivered_time_ = now_;
            Packet p;
            p.number = next_++;
            p.sent = now_;
            p.back = now_ + rtt_;
            p.delivered = delivered_;
            p.delivered_time = delivered_time_;
            p.first_sent = first_sent_;
            const double waiting = busy_until_ > now_ ? to_seconds(busy_until_ - now_) * pps_ : 0.0;
            longest_queue_ = std::max(longest_queue_, waiting);
            p.marked = mark_ && waiting > queue_;
            p.lost = (!mark_ && waiting > queue_) || (lose_every_ > 0 && p.number % lose_every_ == 0) ||
                     p.number < lose_before_;
            if (!p.lost) {
                busy_until_ = std::max(busy_until_, now_) + from_seconds(1.0 / pps_);
                p.back = busy_until_ + rtt_;
            } else if (busy_until_ > now_) {
                p.back = busy_until_ + rtt_;
            }
            controller_.on_sent({now_, p.number, kBytes, in_flight_});
            in_flight_ += kBytes;
            packets_.push_back(p);
        }
    }

    bool acknowledge() {
        CongestionFeedback f;
        f.now = now_;
        f.largest_sent = next_ - 1;
        f.in_flight_before = in_flight_;
        std::optional<Packet> newest;
        while (!packets_.empty() && packets_.front().back <= now_) {
            const Packet p = packets_.front();
            packets_.pop_front();
            in_flight_ -= kBytes;
            if (p.lost) {
                ++lost_packets_;
                f.lost.push_back({p.number, kBytes, p.sent});
                continue;
            }
            if (p.marked) {
                ++marked_packets_;
                f.lost.push_back({p.number, kBytes, p.sent, true});
            }
            delivered_ += kBytes;
            ++f.acked_packets;
            f.acked_bytes += kBytes;
            newest = p;
        }
        f.in_flight_after = in_flight_;
        f.application_limited = limited_ || !sending_;
        f.smoothed_rtt = newest ? newest->back - newest->sent : rtt_;
        if (newest) {
            f.largest_acked = newest->number;
            f.rtt_sample = f.smoothed_rtt;
            delivered_time_ = now_;
            first_sent_ = newest->sent;
            const Duration interval = std::max(newest->sent - newest->first_sent, now_ - newest->delivered_time);
            if (interval >= rtt_)
                f.delivery = DeliverySample{.rate = Rate::from_bytes(delivered_ - newest->delivered, interval),
                                            .interval = interval,
                                            .application_limited = f.application_limited};
        }
        if (!newest && f.lost.empty()) return false;
        controller_.on_feedback(f);
        return true;
    }

    CongestionController& controller_;
    double pps_;
    Duration rtt_;
    double queue_;
    bool sending_ = true;
    bool limited_ = false;
    bool mark_ = false;
    std::uint64_t lose_every_ = 0;
    PacketNumber lose_before_ = 0;
    Instant now_ = Instant(std::chrono::seconds(1));
    Instant busy_until_ = now_;
    std::deque<Packet> packets_;
    PacketNumber next_ = 1;
    std::uint64_t in_flight_ = 0;
    double credit_ = 0.0;
    std::uint64_t delivered_ = 0;
    std::uint64_t lost_packets_ = 0;
    std::uint64_t marked_packets_ = 0;
    double longest_queue_ = 0.0;
    Instant delivered_time_ = now_;
    Instant first_sent_ = now_;
};

}  // namespace udtx::congestion
