// Model of one direction of the emulated link. Inputs are times and packet sizes; outputs are fates and delivery times.
//
// A packet passes these stages: random loss, burst loss, queue limit, serialisation, propagation, jitter, reordering,
// duplication. Both losses happen before the queue, so that lost packets use no link time. The schedule of changes is
// known beforehand. A packet's departure is therefore known exactly when it arrives, also across changes of the rate.
//
// Order of calls: offer() for each packet, then on_delivered() when it is handed over. Times must not decrease.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "line_params.hpp"
#include "sim/prng.hpp"

namespace udtx::wan {

enum class Verdict : std::uint8_t { delivered, lost, lost_in_burst, queue_full };

struct Fate {
    Verdict verdict = Verdict::delivered;
    Instant at;                        ///< time of delivery, if delivered
    std::optional<Instant> duplicate;  ///< time of delivery of a copy
};

/// Counters of real packets, except those that name cross traffic.
struct LineCounters {
    std::uint64_t offered = 0;
    std::uint64_t offered_bytes = 0;
    std::uint64_t queued = 0;  ///< passed the queue
    std::uint64_t delivered = 0;
    std::uint64_t delivered_bytes = 0;
    std::uint64_t dropped_queue = 0;
    std::uint64_t dropped_loss = 0;
    std::uint64_t dropped_burst = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t cross_bytes = 0;  ///< cross-traffic bytes that passed the queue
    std::uint64_t cross_dropped = 0;
    double wait_seconds = 0.0;  ///< sum of the queued packets' waiting times before their serialisation
};

class Line {
  public:
    Line(Instant start, LineSetup setup);

    Fate offer(Instant now, std::uint32_t bytes, FlowId flow);
    void on_delivered(FlowId flow, std::uint32_t bytes);

    /// Bytes that wait at `now`, cross traffic included. Advances the cross traffic to `now`.
    std::uint64_t queue_bytes(Instant now);
    /// Largest queue since the last call.
    std::uint64_t take_queue_peak();
    [[nodiscard]] const LineCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const std::array<std::uint64_t, kFlows>& delivered_bytes() const noexcept { return flow_bytes_; }

  private:
    struct Waiting {
        Instant service;  // start of its serialisation
        std::uint32_t bytes;
    };
    struct Service {
        Instant begin;
        Instant end;
    };

    [[nodiscard]] std::size_t phase_at(Instant at) const;
    [[nodiscard]] const LineParams& params_at(Instant at) const { return setup_.phases[phase_at(at)].params; }
    [[nodiscard]] Instant phase_end(std::size_t phase) const;
    [[nodiscard]] Instant serialised(Instant begin, std::uint32_t bytes) const;
    [[nodiscard]] std::optional<Service> enqueue(Instant now, std::uint32_t bytes);
    [[nodiscard]] Instant arrival(Instant departure, FlowId flow);
    [[nodiscard]] Instant interrupt(Instant at) const;
    [[nodiscard]] bool lost_in_burst(const sim::BurstLoss& burst);
    void advance(Instant now);
    void serve(Instant now);
    [[nodiscard]] Instant next_cross(Instant from) const;

    Instant start_;
    LineSetup setup_;
    sim::Prng prng_;
    bool bad_state_ = false;
    Instant busy_until_;
    std::deque<Waiting> waiting_;
    std::uint64_t waiting_bytes_ = 0;
    std::uint64_t peak_bytes_ = 0;
    Instant cross_due_;
    std::array<Instant, kFlows> last_arrival_{};
    std::array<std::uint64_t, kFlows> flow_bytes_{};
    LineCounters counters_;
};

}  // namespace udtx::wan
