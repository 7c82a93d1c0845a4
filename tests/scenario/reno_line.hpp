// A TCP transfer (NewReno without SACK, an ACK for two segments) over a link whose return direction is slow. The filter
// of acknowledgements (AF) precedes that direction, and the library's regeneration (DAR) follows it. This is the set-up
// of the ACK regeneration paper.
//
//     sender - 100 Mbit/s, 1 ms - relay - the line - receiver
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "recovery/ack_regenerator.hpp"
#include "sim/network.hpp"

namespace udtx::sim {

struct RenoSetup {
    bool regenerate = false;  ///< true: AF and DAR; false: neither
    std::uint64_t down_bps = 3'500'000;
    std::uint64_t up_bps = 8'000;
    double bit_errors = 0.0;
    std::uint64_t seed = 1;
};

class RenoLine {
  public:
    explicit RenoLine(const RenoSetup& setup) : setup_(setup), network_(events_, setup.seed) {
        const Address at[] = {make_address(1, 1), make_address(2, 1), make_address(3, 1)};
        for (std::size_t i = 0; i < 3; ++i) {
            ends_[i].line = this;
            ends_[i].address = at[i];
            ends_[i].node = network_.add_node("end", at[i], &ends_[i]);
        }
        const auto lost = [&setup](double bytes) { return 1.0 - std::pow(1.0 - setup.bit_errors, bytes * 8.0); };
        const LinkParams near{.bits_per_second = 100'000'000, .delay = std::chrono::milliseconds(1)};
        join(kSender, kRelay, near);
        join(kRelay, kSender, near);
        join(kRelay, kReceiver,
             {.bits_per_second = setup.down_bps,
              .delay = std::chrono::milliseconds(50),
              .queue_bytes = 200 * kDataOnLine,
              .loss = lost(kDataOnLine)});
        join(kReceiver, kRelay,
             {.bits_per_second = setup.up_bps,
              .delay = std::chrono::milliseconds(50),
              .queue_bytes = 20 * kAckOnLine,
              .loss = lost(kAckOnLine)});
    }
    RenoLine(const RenoLine&) = delete;
    RenoLine& operator=(const RenoLine&) = delete;

    /// Returns the rate of the data that the receiver got in order, Mbit/s.
    double run(Duration length) {
        events_.call_at(kStart + std::chrono::milliseconds(setup_.seed % 50), [this] { send_what_fits(); });
        events_.run_until(kStart + length);
        return static_cast<double>(expected_) * kSegment * 8e-6 / to_seconds(length);
    }
    /// Number of regenerated ACKs that arrived after a higher one.
    [[nodiscard]] unsigned overtaken() const noexcept { return overtaken_; }
    [[nodiscard]] unsigned made() const noexcept { return made_; }

  private:
    enum Place : std::size_t { kSender, kRelay, kReceiver };
    static constexpr std::uint32_t kSegment = 1000;
    static constexpr std::uint32_t kDataOnLine = 1042;  // TCP, IPv4 and PPP headers
    static constexpr std::uint32_t kAckOnLine = 42;
    static constexpr std::uint32_t kOverhead = 28;  // of a link, bytes
    static constexpr double kBuffer = 131.0;        // segments: 128 KiB
    static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

    struct End final : Host {
        RenoLine* line = nullptr;
        NodeId node = 0;
        Address address;
        void on_datagram(Instant /*now*/, const Address& /*local*/, const Address& remote, std::span<std::byte> data,
                         proto::Ecn /*ecn*/) override {
            std::uint64_t number = 0;
            std::memcpy(&number, data.data(), sizeof number);
            if (this == &line->ends_[kSender]) {
                line->on_ack(number);
            } else if (this == &line->ends_[kReceiver]) {
                line->on_data(number);
            } else if (remote == line->ends_[kSender].address) {
                line->relay_data(number);
            } else {
                line->relay_ack(number);
            }
        }
    };

    void join(Place from, Place to, const LinkParams& params) {
        network_.connect(ends_[from].node, ends_[to].node, {&network_.add_link("line", params)});
    }
    void send(Place from, Place to, std::uint64_t number, std::uint32_t on_line) {
        std::vector<std::byte> data(on_line - kOverhead);
        std::memcpy(data.data(), &number, sizeof number);
        network_.send(ends_[from].node, ends_[to].address, data);
    }

    // The sender. All numbers count segments.
    void send_what_fits() {
        const auto window = static_cast<std::uint64_t>(std::min(window_, kBuffer));
        while (next_ < unacked_ + window) send_segment(next_++);
        if (!timer_ && next_ > unacked_) restart_timer();
    }
    void send_segment(std::uint64_t number) {
        if (number >= highest_) {
            highest_ = number + 1;
            if (timed_ == kNone) {
                timed_ = number;
                timed_at_ = events_.now();
            }
        } else if (number <= timed_) {
            timed_ = kNone;  // Karn's algorithm: no RTT sample of a retransmission
        }
        send(kSender, kRelay, number, kDataOnLine);
    }
    void on_ack(std::uint64_t ack) {
        if (ack > unacked_) {
            on_new_ack(ack);
        } else if (ack == unacked_ && highest_ > unacked_) {
            on_repeated_ack();
        }
        send_what_fits();
    }
    void on_new_ack(std::uint64_t ack) {
        const auto newly = static_cast<double>(ack - unacked_);
        unacked_ = ack;
        next_ = std::max(next_, ack);
        repeats_ = 0;
        backoff_ = 1;
        if (timed_ != kNone && ack > timed_) sample_rtt();
        if (!recovering_) {
            window_ += window_ < threshold_ ? 1.0 : 1.0 / window_;
        } else if (ack >= recover_) {
            recovering_ = false;
            window_ = threshold_;
        } else {
            send_segment(unacked_);
            window_ = std::max(1.0, window_ - newly + 1.0);
        }
        restart_timer();
    }
    void on_repeated_ack() {
        ++repeats_;
        if (recovering_) {
            window_ += 1.0;
        } else if (repeats_ == 3 && unacked_ >= recover_) {
            halve();
            window_ = threshold_ + 3.0;
            recovering_ = true;
            send_segment(unacked_);
            restart_timer();
        }
    }
    void halve() {
        threshold_ = std::max(2.0, static_cast<double>(next_ - unacked_) / 2.0);
        recover_ = highest_;
    }
    void sample_rtt() {
        const double rtt = to_seconds(events_.now() - timed_at_);
        timed_ = kNone;
        variance_ = rtt_ > 0.0 ? 0.75 * variance_ + 0.25 * std::abs(rtt_ - rtt) : rtt / 2.0;
        rtt_ = rtt_ > 0.0 ? 0.875 * rtt_ + 0.125 * rtt : rtt;
    }
    void restart_timer() {
        const std::uint64_t turn = ++turn_;
        timer_ = unacked_ < highest_;
        if (!timer_) return;
        const double wait = std::max(1.0, rtt_ > 0.0 ? rtt_ + 4.0 * variance_ : 1.0) * backoff_;
        events_.call_at(events_.now() + from_seconds(wait), [this, turn] {
            if (turn == turn_) on_timeout();
        });
    }
    void on_timeout() {
        halve();
        window_ = 1.0;
        recovering_ = false;
        repeats_ = 0;
        next_ = unacked_;  // sends all segments again
        timed_ = kNone;
        backoff_ = std::min(backoff_ * 2, 64);
        timer_ = false;
        send_what_fits();
    }

    // The receiver, and the filter before its link.
    void on_data(std::uint64_t number) {
        const bool in_turn = number == expected_ && beyond_.empty();
        if (number >= expected_) beyond_.insert(number);
        while (beyond_.erase(expected_) > 0) ++expected_;
        if (in_turn && ++untold_ < 2) {
            const std::uint64_t turn = ++told_turn_;
            events_.call_at(events_.now() + std::chrono::milliseconds(200), [this, turn] {
                if (turn == told_turn_ && untold_ > 0) acknowledge();
            });
            return;
        }
        acknowledge();
    }
    void acknowledge() {
        untold_ = 0;
        ++told_turn_;
        if (!setup_.regenerate) {
            send(kReceiver, kRelay, expected_, kAckOnLine);
            return;
        }
        // The filter keeps only the newest waiting ACK and its duplicates.
        std::erase_if(filtered_, [this](std::uint64_t older) { return older < expected_; });
        if (filtered_.size() < 20) filtered_.push_back(expected_);
        if (!up_busy_) pass_filtered();
    }
    void pass_filtered() {
        up_busy_ = !filtered_.empty();
        if (!up_busy_) return;
        send(kReceiver, kRelay, filtered_.front(), kAckOnLine);
        filtered_.pop_front();
        const double busy = kAckOnLine * 8.0 / static_cast<double>(setup_.up_bps);
        events_.call_at(events_.now() + from_seconds(busy), [this] { pass_filtered(); });
    }

    // The relay.
    void relay_data(std::uint64_t number) {
        regenerator_.on_data(number * kSegment, (number + 1) * kSegment);
        send(kRelay, kReceiver, number, kDataOnLine);
    }
    void relay_ack(std::uint64_t ack) {
        if (!setup_.regenerate) {
            send(kRelay, kSender, ack, kAckOnLine);
            return;
        }
        const auto series = regenerator_.on_ack(events_.now(), ack * kSegment);
        for (; !waiting_.empty(); waiting_.pop_front()) pass(waiting_.front());
        ++series_;
        made_ += static_cast<unsigned>(series.acks.size()) - 1;
        pass(series.acks.front());
        for (std::size_t i = 1; i < series.acks.size(); ++i) {
            waiting_.push_back(series.acks[i]);
            const auto wait = series.spacing * static_cast<std::int64_t>(i);
            events_.call_at(events_.now() + wait, [this, of = series_] {
                if (of != series_ || waiting_.empty()) return;
                pass(waiting_.front());
                waiting_.pop_front();
            });
        }
    }
    void pass(std::uint64_t bytes) {
        if (bytes < passed_) ++overtaken_;
        passed_ = std::max(passed_, bytes);
        send(kRelay, kSender, bytes / kSegment, kAckOnLine);
    }

    RenoSetup setup_;
    EventQueue events_;
    Network network_;
    End ends_[3];

    std::uint64_t unacked_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t highest_ = 0;  // highest number sent, plus one
    std::uint64_t recover_ = 0;
    std::uint64_t timed_ = kNone;
    Instant timed_at_{};
    double window_ = 10.0;
    double threshold_ = 1e9;
    double rtt_ = 0.0;
    double variance_ = 0.0;
    bool recovering_ = false;
    bool timer_ = false;
    int repeats_ = 0;
    int backoff_ = 1;
    std::uint64_t turn_ = 0;

    std::uint64_t expected_ = 0;
    std::set<std::uint64_t> beyond_;
    int untold_ = 0;
    std::uint64_t told_turn_ = 0;
    std::deque<std::uint64_t> filtered_;
    bool up_busy_ = false;

    recovery::AckRegenerator regenerator_;
    std::deque<std::uint64_t> waiting_;  // regenerated ACKs that are not yet due
    std::uint64_t series_ = 0;
    std::uint64_t passed_ = 0;
    unsigned overtaken_ = 0;
    unsigned made_ = 0;
};

}  // namespace udtx::sim
