// One direction of a link: drop-tail queue, serialisation, propagation and the faults of the link, all from a seed.
//
// Order of the checks for a packet: blackout, MTU, drop for its mark, random loss, burst loss, queue limit. A loss
// happens before the queue, so it takes no link time. Then follow serialisation + propagation (+ extra delay if
// reordered), corruption, duplication.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/card.hpp"
#include "sim/event_queue.hpp"
#include "sim/packet.hpp"
#include "sim/prng.hpp"
#include "udtx/rate.hpp"

namespace udtx::sim {

/// Drops every packet in [start + from, start + from + length), again every `period` (zero: once).
struct Blackout {
    Duration from{};
    Duration length{};
    Duration period{};
};

/// The rate from `from` after the start on, until the next step.
struct RateStep {
    Duration from{};
    std::uint64_t bits_per_second = 0;  ///< 0: the link is suspended and packets wait
};

/// Bytes that a link with these rates can send in [from, to).
[[nodiscard]] std::uint64_t bytes_between(const std::vector<RateStep>& rates, Duration from, Duration to);
/// Time at which a link with these rates has sent `bytes`, if it begins at `from`. Throws if it never has.
[[nodiscard]] Duration sent_at(const std::vector<RateStep>& rates, Duration from, std::uint64_t bytes);

/// Two-state burst loss (Gilbert 1960, Elliott 1963). The state is drawn per packet.
struct BurstLoss {
    double enter = 0.0;  ///< probability per packet to go from good to bad; 0 turns the model off
    double leave = 1.0;  ///< from bad to good; mean burst length = 1 / leave
    double loss_in_bad = 1.0;
    double loss_in_good = 0.0;

    [[nodiscard]] double mean() const noexcept {
        return enter > 0.0 ? (enter * loss_in_bad + leave * loss_in_good) / (enter + leave) : 0.0;
    }
};

/// What a link does to packets that are marked as ECN-capable, besides marks at its queue.
enum class EcnFault : std::uint8_t {
    none,
    bleach,     ///< removes the mark
    always_ce,  ///< turns every mark into CE
    drop,       ///< drops the packet
};

struct LinkParams {
    std::uint64_t bits_per_second = 100'000'000;  ///< 0: infinitely fast
    std::vector<RateStep> rates{};                ///< instead of bits_per_second when not empty; the first from zero on
    Duration delay = std::chrono::milliseconds(10);
    std::uint64_t queue_bytes = 1'000'000;  ///< limit of the waiting bytes, headers included; the rest is dropped
    std::uint32_t overhead = 28;            ///< bytes of link time per datagram besides its payload (IPv4 + UDP)
    std::uint32_t mtu = 1472;               ///< UDP payload; larger datagrams are dropped without a report
    double loss = 0.0;
    BurstLoss burst{};
    Duration jitter{};                            ///< extra delay, uniform in [0, jitter]; packets keep their order
    std::function<Duration(Prng&)> jitter_law{};  ///< draws the extra delay instead of the uniform law
    Duration jitter_hold{};  ///< time for which a drawn jitter stays the same; zero: each packet draws its own
    double reorder = 0.0;    ///< probability of an extra delay ...
    Duration reorder_by{};   ///< ... uniform in (0, reorder_by]
    double duplicate = 0.0;
    double corrupt = 0.0;  ///< probability that 1 to 8 bits are flipped
    /// Active queue management: a packet that would wait longer gets the mark CE if it is ECN-capable, else it is
    /// dropped. Zero: only `queue_bytes` counts.
    Duration longest_wait{};
    EcnFault ecn_fault = EcnFault::none;
    std::vector<Blackout> blackouts{};
    Coalescing card{};  ///< at the receiving host of this link
};

struct LinkCounters {
    std::uint64_t sent = 0;  ///< packets offered to the link
    std::uint64_t sent_bytes = 0;
    std::uint64_t delivered = 0;  ///< duplicates included
    std::uint64_t delivered_bytes = 0;
    std::uint64_t dropped_queue = 0;
    std::uint64_t dropped_loss = 0;
    std::uint64_t dropped_burst = 0;
    std::uint64_t dropped_mtu = 0;
    std::uint64_t dropped_blackout = 0;
    std::uint64_t dropped_ecn = 0;  ///< by EcnFault::drop
    std::uint64_t marked = 0;       ///< with CE, by longest_wait
    std::uint64_t duplicated = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t reordered = 0;
    std::uint64_t max_queue = 0;      ///< bytes
    double queue_byte_seconds = 0.0;  ///< integral of the queue over time, bytes x s; mean = integral / time
    [[nodiscard]] std::uint64_t dropped() const noexcept {
        return dropped_queue + dropped_loss + dropped_burst + dropped_mtu + dropped_blackout + dropped_ecn;
    }
    friend bool operator==(const LinkCounters&, const LinkCounters&) = default;
};

class Link final : EventSink {
  public:
    Link(std::string name, EventQueue& events, PacketPool& pool, LinkParams params, std::uint64_t seed)
        : name_(std::move(name)),
          events_(events),
          pool_(pool),
          params_(std::move(params)),
          prng_(seed),
          card_(events, Prng::derive(seed, 1).next()) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    void set_receiver(PacketReceiver* receiver) noexcept { card_.set_receiver(receiver); }
    void send(Instant now, PacketPtr packet);

    /// Changes parameters now. For later packets, the bytes in the queue are served at the new rate. Packets already in
    /// the queue keep the departure time that they have.
    void change(const std::function<void(LinkParams&)>& edit);

    [[nodiscard]] const LinkParams& params() const noexcept { return params_; }
    [[nodiscard]] const LinkCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::uint64_t queued_bytes(Instant now) const;
    /// Time that a packet of no length waits in the queue.
    [[nodiscard]] Duration queue_delay(Instant now) const noexcept {
        return std::max(busy_until_ - now, Duration::zero());
    }

  private:
    enum class Fate { pass, blackout, mtu, ecn, loss, burst };
    [[nodiscard]] bool limited() const noexcept { return params_.bits_per_second != 0 || !params_.rates.empty(); }
    [[nodiscard]] Instant sent_by(Instant from, std::uint64_t bytes) const;
    [[nodiscard]] bool dark(Instant now) const noexcept;
    [[nodiscard]] Fate fate(Instant now, const Packet& packet);
    [[nodiscard]] bool queues(Instant now, Packet& packet);
    void count_drop(Fate fate) noexcept;
    [[nodiscard]] Duration draw_jitter(Instant now);
    void flip_bits(Packet& packet);
    void put_in_flight(Instant arrival, PacketPtr packet);
    void schedule_first();
    [[nodiscard]] PacketPtr take_due(std::uint64_t tag);
    void integrate_queue(Instant now);
    void on_due(Instant now, std::uint64_t tag) override;

    std::string name_;
    EventQueue& events_;
    PacketPool& pool_;
    LinkParams params_;
    Prng prng_;
    Card card_;
    LinkCounters counters_;
    Instant busy_until_ = kStart;  // when the last queued bit leaves; the queue is the work between now and then
    Instant integrated_to_ = kStart;
    Instant last_departure_ = kStart;
    Instant last_arrival_ = kStart;  // arrival of the last jittered packet
    Duration held_up_{};             // extra delay of jitter that is held (jitter_hold)
    Instant held_until_ = kStart;    // end of that hold
    bool bad_state_ = false;
    /// Packets that keep their order. Only the first of them is in the event queue, as there may be thousands.
    struct Waiting {
        Instant arrival;
        std::uint64_t turn;
        PacketPtr packet;
    };
    std::deque<Waiting> in_order_;
    std::vector<PacketPtr> overtaking_;  // reordered packets, indexed by the tag of their event
    std::vector<std::uint64_t> free_slots_;
};

}  // namespace udtx::sim
