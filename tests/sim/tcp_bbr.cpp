#include "sim/tcp_bbr.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::sim {

namespace {

constexpr double kHighGain = 2.885;  // 2 / ln 2
constexpr std::array kCycle{1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
constexpr double kWindowGain = 2.0;
constexpr double kPacingMargin = 0.99;
constexpr double kFullGrowth = 1.25;
constexpr int kFullRounds = 3;
constexpr double kLeastWindow = 4.0;
constexpr double kMinRttLife = 10.0;  // s
constexpr Duration kProbeRttTime = std::chrono::milliseconds(200);
constexpr double kBurstSeconds = 1.0 / 1024.0;  // duration of one TSO burst; the window has room for three of them

}  // namespace

double TcpBbr::bandwidth() const noexcept { return *std::max_element(best_.begin(), best_.end()); }

double TcpBbr::pacing_gain() const noexcept {
    switch (mode_) {
        case Mode::startup:
            return kHighGain;
        case Mode::drain:
            return 1.0 / kHighGain;
        case Mode::probe_bw:
            return kCycle.at(phase_);
        case Mode::probe_rtt:
            return 1.0;
    }
    return 1.0;
}

double TcpBbr::window_gain() const noexcept {
    if (mode_ == Mode::startup || mode_ == Mode::drain) return kHighGain;
    return mode_ == Mode::probe_bw ? kWindowGain : 1.0;
}

double TcpBbr::burst() const noexcept { return std::max(2.0, std::floor(pacing_ * kBurstSeconds)); }

// bbr_inflight(): gain x BDP and room for bursts.
double TcpBbr::inflight(double gain) const noexcept {
    if (min_rtt_ <= 0.0) return kInitialWindow;
    const double more = mode_ == Mode::probe_bw && phase_ == 0 ? 2.0 : 0.0;
    return std::ceil(gain * bandwidth() * min_rtt_) + 3.0 * burst() + more;
}

void TcpBbr::on_ack(const TcpAck& ack) {
    update_bandwidth(ack);
    update_cycle(ack);
    check_full(ack);
    check_drain(ack);
    update_min_rtt(ack);
    const double rate = kPacingMargin * pacing_gain() * bandwidth();
    if (full_ || rate > pacing_) pacing_ = rate;
    set_window(ack);
}

void TcpBbr::update_bandwidth(const TcpAck& ack) {
    round_start_ = ack.prior_delivered >= next_round_delivered_;
    if (round_start_) {
        next_round_delivered_ = ack.delivered;
        ++round_;
        best_[round_ % kBandwidthRounds] = 0.0;
        conserve_ = false;
    }
    if (!ack.rate_limited || ack.rate >= bandwidth()) {
        double& best = best_[round_ % kBandwidthRounds];
        best = std::max(best, ack.rate);
    }
}

void TcpBbr::update_cycle(const TcpAck& ack) {
    if (mode_ != Mode::probe_bw) return;
    const bool full_length = to_seconds(ack.now - phase_start_) > min_rtt_;
    const auto before = static_cast<double>(ack.prior_in_flight);
    const double gain = pacing_gain();
    bool next = full_length;
    if (gain > 1.0) next = full_length && (ack.lost > 0 || before >= inflight(gain));
    if (gain < 1.0) next = full_length || before <= inflight(1.0);
    if (!next) return;
    phase_ = (phase_ + 1) % kCycle.size();
    phase_start_ = ack.now;
}

void TcpBbr::enter_probe_bw(Instant now) {
    mode_ = Mode::probe_bw;
    // Selects any phase except the one with gain 0.75.
    phase_ = (kCycle.size() - prng_.below(kCycle.size() - 1)) % kCycle.size();
    phase_start_ = now;
}

void TcpBbr::check_full(const TcpAck& ack) {
    if (full_ || !round_start_ || ack.rate_limited) return;
    if (bandwidth() >= kFullGrowth * full_bandwidth_) {
        full_bandwidth_ = bandwidth();
        full_count_ = 0;
        return;
    }
    full_ = ++full_count_ >= kFullRounds;
}

void TcpBbr::check_drain(const TcpAck& ack) {
    if (mode_ == Mode::startup && full_) mode_ = Mode::drain;
    if (mode_ == Mode::drain && static_cast<double>(ack.in_flight) <= inflight(1.0)) enter_probe_bw(ack.now);
}

void TcpBbr::update_min_rtt(const TcpAck& ack) {
    const bool expired = min_rtt_ > 0.0 && to_seconds(ack.now - min_rtt_stamp_) > kMinRttLife;
    if (min_rtt_ <= 0.0 || ack.rtt < min_rtt_ || expired) {
        min_rtt_ = ack.rtt;
        min_rtt_stamp_ = ack.now;
    }
    if (expired && mode_ != Mode::probe_rtt) {
        save_window();
        mode_ = Mode::probe_rtt;
        probe_rtt_done_.reset();
    }
    if (mode_ == Mode::probe_rtt) hold_probe_rtt(ack);
}

void TcpBbr::hold_probe_rtt(const TcpAck& ack) {
    if (!probe_rtt_done_) {
        if (static_cast<double>(ack.in_flight) > kLeastWindow) return;
        probe_rtt_done_ = ack.now + kProbeRttTime;
        probe_rtt_round_done_ = false;
        next_round_delivered_ = ack.delivered;
        return;
    }
    if (round_start_) probe_rtt_round_done_ = true;
    if (!probe_rtt_round_done_ || ack.now <= *probe_rtt_done_) return;
    min_rtt_stamp_ = ack.now;
    window_ = std::max(window_, prior_window_);
    if (full_) {
        enter_probe_bw(ack.now);
    } else {
        mode_ = Mode::startup;
    }
}

void TcpBbr::save_window() {
    const bool fresh = !was_in_recovery_ && mode_ != Mode::probe_rtt;
    prior_window_ = fresh ? window_ : std::max(prior_window_, window_);
}

void TcpBbr::on_recovery() { save_window(); }

void TcpBbr::on_timeout() {
    save_window();
    window_ = 1.0;
    full_bandwidth_ = 0.0;
    was_in_recovery_ = true;
    conserve_ = false;
}

// bbr_set_cwnd_to_recover_or_restore()
void TcpBbr::recover_or_restore(const TcpAck& ack) {
    if (ack.lost > 0) window_ = std::max(window_ - ack.lost, 1.0);
    if (ack.in_recovery && !was_in_recovery_) {
        conserve_ = true;
        next_round_delivered_ = ack.delivered;
        window_ = static_cast<double>(ack.in_flight + ack.acked);
    } else if (!ack.in_recovery && was_in_recovery_) {
        window_ = std::max(window_, prior_window_);
        conserve_ = false;
    }
    was_in_recovery_ = ack.in_recovery;
    if (conserve_) window_ = std::max(window_, static_cast<double>(ack.in_flight + ack.acked));
}

void TcpBbr::set_window(const TcpAck& ack) {
    recover_or_restore(ack);
    if (!conserve_) {
        const double target = inflight(window_gain());
        if (full_) {
            window_ = std::min(window_ + ack.acked, target);
        } else if (window_ < target || static_cast<double>(ack.delivered) < kInitialWindow) {
            window_ += ack.acked;
        }
        window_ = std::max(window_, kLeastWindow);
    }
    if (mode_ == Mode::probe_rtt) window_ = std::min(window_, kLeastWindow);
}

}  // namespace udtx::sim
