// A start with what an earlier connection measured of the path: Careful Resume, draft-ietf-tsvwg-careful-resume.
//
// One window of half the known capacity leaves within a round trip. It is sent before the path has shown that it still
// has this capacity, so a queue, losses or a timeout among its packets end it (Safe Retreat). There is no second one.
//
// The draft also waits until the first flight has arrived. By then a train has measured most links, and half of the
// capacity leaves anyway. So the RTT of the handshake confirms the path here, as in picoquic.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::congestion {

class UdtxCarefulStart {
  public:
    enum class Phase : std::uint8_t {
        none,            ///< nothing is known, or the start is over
        reconnaissance,  ///< known, but no RTT confirms the path
        unvalidated,     ///< the window is being sent
        validating,      ///< the first of its packets has arrived
        validated,       ///< nothing of it was lost, and no queue formed
        retreat,         ///< the path has less capacity than known, and its queue is that of the window
        refuted,         ///< packets behind the window arrive
    };

    /// `rtt`: RTT of the handshake; zero: unknown.
    void recall(const KnownPath& path, Duration rtt);
    /// Call it only in slow start. `slow_start`: its window, bytes. Packets beyond it are those of the window here.
    void on_sent(const CongestionSent& packet, double slow_start);
    /// `queue`: queueing delay, s; `most`: a longer one is congestion on a path without jitter, s.
    void on_feedback(const CongestionFeedback& feedback, double queue, double most);

    [[nodiscard]] Phase phase() const noexcept { return phase_; }
    /// Bytes that may be in flight whatever slow start says; 0: no more than that.
    [[nodiscard]] double window() const noexcept { return jumps() ? window_ : 0.0; }
    /// Rate at which this window leaves, bytes/s.
    [[nodiscard]] double rate() const noexcept { return rate_; }
    /// Packets of the window are in the network, and no congestion shows yet.
    [[nodiscard]] bool jumps() const noexcept { return phase_ == Phase::unvalidated || phase_ == Phase::validating; }
    [[nodiscard]] bool refuted() const noexcept { return phase_ == Phase::retreat || phase_ == Phase::refuted; }
    /// Window of slow start once refuted(), bytes: half of what had arrived, and what arrives from then on.
    [[nodiscard]] double safe() const noexcept { return arrived_ - 0.5 * arrived_then_; }

  private:
    static constexpr Step<Phase> kSteps[] = {
        {Phase::none, Phase::reconnaissance},
        {Phase::reconnaissance, Phase::none},
        {Phase::reconnaissance, Phase::unvalidated},
        {Phase::unvalidated, Phase::none},
        {Phase::unvalidated, Phase::validating},
        {Phase::unvalidated, Phase::retreat},
        {Phase::validating, Phase::retreat},
        {Phase::validating, Phase::validated},
        {Phase::retreat, Phase::refuted},
    };

    void confirm(Duration rtt);

    Lifecycle<kSteps> phase_{Phase::none};
    KnownPath known_;
    double window_ = 0.0;
    double rate_ = 0.0;
    double flight_ = 0.0;        // bytes in flight behind the newest packet of the window
    double arrived_ = 0.0;       // of the window and, after a retreat, behind it
    double arrived_then_ = 0.0;  // when the retreat began
    double packets_ = 0.0;       // of the window, that arrived
    double lost_ = 0.0;          // the same, lost
    std::optional<PacketNumber> first_;
    PacketNumber last_ = 0;
};

}  // namespace udtx::congestion
