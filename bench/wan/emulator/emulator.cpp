#include "emulator.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <thread>
#include <utility>

#include "udtx/system.hpp"

namespace udtx::wan {

namespace {

/// A sleeping thread wakes up some microseconds late (at most 16 us in 99 of 100 cases). It therefore sleeps until this
/// long before a deadline, and spins for the rest. Longer spinning takes CPU time from the tools under test. The rests
/// below would then delay packets more than sleeping does. At 200 Mbit/s packets are 60 us apart.
constexpr Duration kSpin = std::chrono::microseconds(25);
/// The kernel stops a real-time thread that runs for 95 % of a second for the remaining 50 ms. No packet would move in
/// that time. Many short rests are less harmful.
constexpr Duration kLongestAwake = std::chrono::microseconds(900);
constexpr Duration kRest = std::chrono::microseconds(55);
/// Most packets that are read from one device before the deadlines are checked again.
constexpr int kReadBatch = 16;

/// Flow of an IPv4 packet. Other packets of a device (IPv6 neighbour discovery) belong to flow 0.
FlowId flow_of(std::span<const std::byte> packet, std::size_t host_at) {
    constexpr std::size_t kAddressBytes = 4;
    const bool v4 = packet.size() >= 20 && std::to_integer<unsigned>(packet[0]) >> 4U == 4U;
    return v4 ? std::to_integer<FlowId>(packet[host_at + kAddressBytes - 1]) : FlowId{0};
}

constexpr std::size_t kSourceAt = 12;  // RFC 791, section 3.1
constexpr std::size_t kDestinationAt = 16;

}  // namespace

Emulator::Emulator(TunDevice a, TunDevice b, Line down, Line up, Trace trace, Instant start)
    : a_(std::move(a)),
      b_(std::move(b)),
      down_{a_, b_, kDestinationAt, std::move(down)},
      up_{b_, a_, kSourceAt, std::move(up)},
      trace_(std::move(trace)),
      start_(start),
      next_sample_(start),
      woke_up_(start) {}

Emulator::PacketPtr Emulator::take_packet() {
    if (free_.empty()) return PacketPtr(new Packet);  // not zeroed
    PacketPtr packet = std::move(free_.back());
    free_.pop_back();
    return packet;
}

void Emulator::give_back(PacketPtr packet) { free_.push_back(std::move(packet)); }

/// Returns false if the device has no more packets.
bool Emulator::accept(Direction& direction) {
    for (int i = 0; i < kReadBatch; ++i) {
        PacketPtr packet = take_packet();
        const std::size_t size = direction.from.read(packet->data);
        if (size == 0) {
            give_back(std::move(packet));
            return false;
        }
        packet->size = static_cast<std::uint32_t>(size);
        packet->flow = flow_of({packet->data, size}, direction.host_at);
        const Fate fate = direction.line.offer(monotonic_now(), packet->size, packet->flow);
        if (fate.verdict != Verdict::delivered) {
            give_back(std::move(packet));
            continue;
        }
        if (fate.duplicate) {
            PacketPtr copy = take_packet();
            *copy = *packet;
            direction.on_the_way.push(*fate.duplicate, std::move(copy));
        }
        direction.on_the_way.push(fate.at, std::move(packet));
    }
    return true;
}

void Emulator::deliver(Direction& direction) {
    Instant now = monotonic_now();
    while (auto due = direction.on_the_way.pop_due(now)) {
        const Packet& packet = *due->packet;
        if (!direction.to.write({packet.data, packet.size})) ++refused_;
        direction.line.on_delivered(packet.flow, packet.size);
        lateness_.add(now - due->at);
        give_back(std::move(due->packet));
        now = monotonic_now();
    }
}

void Emulator::wait(Instant until) {
    const Instant now = monotonic_now();
    const Duration left = until == Instant::min() ? Duration::zero() : until - now - kSpin;
    if (left <= Duration::zero()) {
        if (now - woke_up_ < kLongestAwake) return;
        std::this_thread::sleep_for(kRest);
        woke_up_ = monotonic_now();
        return;
    }
    std::array<pollfd, 2> fds{pollfd{a_.fd(), POLLIN, 0}, pollfd{b_.fd(), POLLIN, 0}};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec limit{seconds.count(), (left - seconds).count()};
    if (::ppoll(fds.data(), fds.size(), &limit, nullptr) == 0) woke_up_ = monotonic_now();
}

void Emulator::sample_if_due() {
    const Instant now = monotonic_now();
    if (now < next_sample_) return;
    trace_.sample(now, "down", down_.line);
    trace_.sample(now, "up", up_.line);
    while (next_sample_ <= now) next_sample_ += trace_.interval();
}

void Emulator::run(const volatile std::sig_atomic_t& stop) {
    while (stop == 0) {
        const bool more_down = accept(down_);
        deliver(up_);
        deliver(down_);
        const bool more_up = accept(up_);
        deliver(down_);
        deliver(up_);
        sample_if_due();
        const bool more = more_down || more_up;
        wait(more ? Instant::min() : std::min({down_.on_the_way.next(), up_.on_the_way.next(), next_sample_}));
    }
    trace_.sample(monotonic_now(), "down", down_.line);
    trace_.sample(monotonic_now(), "up", up_.line);
}

}  // namespace udtx::wan
