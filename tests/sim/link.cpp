#include "sim/link.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace udtx::sim {
namespace {

/// Tag of the event for the first of the packets that keep their order.
constexpr std::uint64_t kFirst = UINT64_MAX;

/// Serialisation time of `bytes`. Integer arithmetic gives the same result on every platform.
Duration line_time(std::uint64_t bytes, std::uint64_t bits_per_second) noexcept {
    if (bits_per_second == 0) return Duration::zero();
    return Duration(static_cast<std::int64_t>(bytes * 8ULL * 1'000'000'000ULL / bits_per_second));
}

/// Bytes that the link sends in `d`, with a resolution of a microsecond (nanoseconds x bits/s would overflow 64 bits).
std::uint64_t bytes_in(Duration d, std::uint64_t bits_per_second) noexcept {
    const auto us = static_cast<std::uint64_t>((d.count() + 999) / 1000);
    return us * (bits_per_second / 8U) / 1'000'000U;
}

/// Bits that the link sends in `d`. Whole seconds are apart, as nanoseconds x bits/s would overflow 64 bits.
std::uint64_t bits_in(Duration d, std::uint64_t bits_per_second) noexcept {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0));
    return ns / kSecond * bits_per_second + ns % kSecond * bits_per_second / kSecond;
}

std::vector<RateStep>::const_iterator step_at(const std::vector<RateStep>& rates, Duration time) {
    const auto next = std::ranges::upper_bound(rates, time, {}, &RateStep::from);
    if (next == rates.begin()) throw std::logic_error("no rate is given for the start");
    return std::prev(next);
}

}  // namespace

std::uint64_t bytes_between(const std::vector<RateStep>& rates, Duration from, Duration to) {
    std::uint64_t bits = 0;
    for (auto step = step_at(rates, from); step != rates.end() && step->from < to; ++step) {
        const Duration end = std::next(step) == rates.end() ? to : std::min(to, std::next(step)->from);
        bits += bits_in(end - std::max(from, step->from), step->bits_per_second);
    }
    return bits / 8U;
}

Duration sent_at(const std::vector<RateStep>& rates, Duration from, std::uint64_t bytes) {
    std::uint64_t bits = bytes * 8U;
    for (auto step = step_at(rates, from);; from = step->from) {
        const auto next = std::next(step);
        if (step->bits_per_second > 0) {
            const Duration end =
                from + Duration(static_cast<std::int64_t>(bits * 1'000'000'000ULL / step->bits_per_second));
            if (next == rates.end() || end <= next->from) return end;
            bits -= bits_in(next->from - from, step->bits_per_second);
        } else if (next == rates.end()) {
            throw std::logic_error("the last rate of a link is 0");
        }
        step = next;
    }
}

Instant Link::sent_by(Instant from, std::uint64_t bytes) const {
    if (params_.rates.empty()) return from + line_time(bytes, params_.bits_per_second);
    return kStart + sent_at(params_.rates, from - kStart, bytes);
}

std::uint64_t Link::queued_bytes(Instant now) const {
    if (busy_until_ <= now) return 0;
    if (!params_.rates.empty()) return bytes_between(params_.rates, now - kStart, busy_until_ - kStart);
    return bytes_in(busy_until_ - now, params_.bits_per_second);
}

bool Link::dark(Instant now) const noexcept {
    for (const Blackout& b : params_.blackouts) {
        Duration since = now - kStart - b.from;
        if (since < Duration::zero()) continue;
        if (b.period > Duration::zero()) since %= b.period;
        if (since < b.length) return true;
    }
    return false;
}

Link::Fate Link::fate(Instant now, const Packet& packet) {
    if (dark(now)) return Fate::blackout;
    if (packet.data.size() > params_.mtu) return Fate::mtu;
    if (params_.ecn_fault == EcnFault::drop && packet.ecn != proto::Ecn::not_ect) return Fate::ecn;
    if (prng_.chance(params_.loss)) return Fate::loss;
    if (params_.burst.enter > 0.0) {
        if (prng_.chance(bad_state_ ? params_.burst.leave : params_.burst.enter)) bad_state_ = !bad_state_;
        if (prng_.chance(bad_state_ ? params_.burst.loss_in_bad : params_.burst.loss_in_good)) return Fate::burst;
    }
    return Fate::pass;
}

void Link::count_drop(Fate fate) noexcept {
    switch (fate) {
        case Fate::blackout:
            ++counters_.dropped_blackout;
            break;
        case Fate::mtu:
            ++counters_.dropped_mtu;
            break;
        case Fate::ecn:
            ++counters_.dropped_ecn;
            break;
        case Fate::loss:
            ++counters_.dropped_loss;
            break;
        case Fate::burst:
            ++counters_.dropped_burst;
            break;
        case Fate::pass:
            break;
    }
}

// At one rate the queue drains linearly between arrivals, so its integral is a sum of triangles and trapezia.
void Link::integrate_queue(Instant now) {
    const Instant empty_at = std::clamp(busy_until_, integrated_to_, now);
    const double at_start = static_cast<double>(queued_bytes(integrated_to_));
    const double at_end = static_cast<double>(queued_bytes(empty_at));
    counters_.queue_byte_seconds += (at_start + at_end) / 2.0 * to_seconds(empty_at - integrated_to_);
    integrated_to_ = now;
}

/// Marks the packet as the queue demands. False: there is no room for it.
bool Link::queues(Instant now, Packet& packet) {
    const bool capable = packet.ecn != proto::Ecn::not_ect;
    if (capable && params_.ecn_fault == EcnFault::bleach) packet.ecn = proto::Ecn::not_ect;
    if (capable && params_.ecn_fault == EcnFault::always_ce) packet.ecn = proto::Ecn::ce;
    if (!limited()) return true;
    const std::uint64_t waiting = queued_bytes(now);
    if (waiting > 0 && waiting + packet.data.size() + params_.overhead > params_.queue_bytes) return false;
    if (params_.longest_wait <= Duration::zero() || queue_delay(now) <= params_.longest_wait) return true;
    if (packet.ecn == proto::Ecn::not_ect) return false;
    packet.ecn = proto::Ecn::ce;
    ++counters_.marked;
    return true;
}

void Link::send(Instant now, PacketPtr packet) {
    const std::size_t bytes = packet->data.size();
    ++counters_.sent;
    counters_.sent_bytes += bytes;
    const Fate verdict = fate(now, *packet);
    if (verdict != Fate::pass) {
        count_drop(verdict);
        pool_.give_back(std::move(packet));
        return;
    }
    const std::uint64_t on_line = bytes + params_.overhead;
    if (!queues(now, *packet)) {
        ++counters_.dropped_queue;
        pool_.give_back(std::move(packet));
        return;
    }
    integrate_queue(now);
    busy_until_ = sent_by(std::max(busy_until_, now), on_line);
    counters_.max_queue = std::max(counters_.max_queue, queued_bytes(now));
    last_departure_ = std::max(last_departure_, busy_until_);

    Instant arrival = last_departure_ + params_.delay;
    if (params_.jitter > Duration::zero() || params_.jitter_law) {
        arrival += draw_jitter(now);
        arrival = last_arrival_ = std::max(last_arrival_, arrival);
    }
    if (prng_.chance(params_.reorder) && params_.reorder_by > Duration::zero()) {
        arrival += Duration(
            static_cast<std::int64_t>(1U + prng_.below(static_cast<std::uint64_t>(params_.reorder_by.count()))));
        ++counters_.reordered;
    }
    if (prng_.chance(params_.duplicate)) {
        ++counters_.duplicated;
        PacketPtr copy = pool_.make(packet->from, packet->to, packet->data, packet->ecn);
        copy->route = packet->route;
        copy->hop = packet->hop;
        put_in_flight(arrival, std::move(copy));
    }
    if (prng_.chance(params_.corrupt)) flip_bits(*packet);
    put_in_flight(arrival, std::move(packet));
}

Duration Link::draw_jitter(Instant now) {
    if (now < held_until_) return held_up_;
    const auto limit = static_cast<std::uint64_t>(params_.jitter.count()) + 1;
    held_up_ =
        params_.jitter_law ? params_.jitter_law(prng_) : Duration(static_cast<Duration::rep>(prng_.below(limit)));
    held_until_ = now + params_.jitter_hold;
    return held_up_;
}

void Link::flip_bits(Packet& packet) {
    if (packet.data.empty()) return;
    ++counters_.corrupted;
    const std::uint64_t flips = 1U + prng_.below(8U);
    for (std::uint64_t i = 0; i < flips; ++i) {
        const std::uint64_t bit = prng_.below(packet.data.size() * 8U);
        packet.data[static_cast<std::size_t>(bit / 8U)] ^= static_cast<std::byte>(1U << (bit % 8U));
    }
}

void Link::put_in_flight(Instant arrival, PacketPtr packet) {
    arrival = std::max(arrival, events_.now());
    if (in_order_.empty() || arrival >= in_order_.back().arrival) {
        in_order_.push_back({arrival, events_.take_turn(), std::move(packet)});
        if (in_order_.size() == 1) schedule_first();
        return;
    }
    std::uint64_t slot = overtaking_.size();
    if (free_slots_.empty()) {
        overtaking_.push_back(std::move(packet));
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
        overtaking_[static_cast<std::size_t>(slot)] = std::move(packet);
    }
    events_.schedule(arrival, *this, slot);
}

void Link::schedule_first() { events_.schedule(in_order_.front().arrival, in_order_.front().turn, *this, kFirst); }

PacketPtr Link::take_due(std::uint64_t tag) {
    if (tag != kFirst) {
        free_slots_.push_back(tag);
        return std::move(overtaking_[static_cast<std::size_t>(tag)]);
    }
    PacketPtr packet = std::move(in_order_.front().packet);
    in_order_.pop_front();
    if (!in_order_.empty()) schedule_first();
    return packet;
}

void Link::on_due(Instant now, std::uint64_t tag) {
    PacketPtr packet = take_due(tag);
    ++counters_.delivered;
    counters_.delivered_bytes += packet->data.size();
    card_.take(now, std::move(packet), params_.card);
}

void Link::change(const std::function<void(LinkParams&)>& edit) {
    const Instant now = events_.now();
    integrate_queue(now);
    const std::uint64_t waiting = queued_bytes(now);
    edit(params_);
    busy_until_ = sent_by(now, waiting);
}

}  // namespace udtx::sim
