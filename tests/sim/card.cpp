#include "sim/card.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace udtx::sim {

namespace {

constexpr int kLeastPart = 16;  // the shortest adaptive period is 1/16 of `period`

}  // namespace

// The card's timer runs continuously, so that interrupts stay periodic whenever packets arrive.
Instant Card::next_interrupt(Instant now) {
    Duration period = coalescing_.period;
    if (coalescing_.adaptive) period = std::max(adapted_, period / kLeastPart);
    if (coalescing_.irregular)
        return now +
               Duration(static_cast<Duration::rep>(prng_.below(2 * static_cast<std::uint64_t>(period.count()) + 1)));
    return now + period - (now - kStart + phase_) % period;
}

void Card::take(Instant now, PacketPtr packet, const Coalescing& coalescing) {
    assert(receiver_ != nullptr);
    coalescing_ = coalescing;
    if (coalescing_.period <= Duration::zero() && waiting_.empty()) {
        receiver_->on_packet(now, std::move(packet));
        return;
    }
    waiting_.push_back(std::move(packet));
    if (coalescing_.frames > 0 && waiting_.size() >= coalescing_.frames) {
        hand_over(now);
    } else if (waiting_.size() == 1) {
        events_.schedule(next_interrupt(now), *this, interrupt_);
    }
}

void Card::on_due(Instant now, std::uint64_t tag) {
    if (tag == interrupt_) hand_over(now);
}

void Card::hand_over(Instant now) {
    ++interrupt_;
    if (waiting_.size() >= kMany) {
        adapted_ = std::min(2 * std::max(adapted_, coalescing_.period / kLeastPart), coalescing_.period);
    } else if (waiting_.size() <= kFew) {
        adapted_ = adapted_ / 2;
    }
    for (PacketPtr& packet : std::exchange(waiting_, {})) receiver_->on_packet(now, std::move(packet));
}

}  // namespace udtx::sim
