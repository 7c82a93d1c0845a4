// Decides when a pair or a train leaves to probe the link, and how long it is.
//
// Each kProbeEvery-th packet opens a pair, at most one per kPairSpacing. If the controller wants trains, a train
// replaces the pair every kTrainSpacing. The first packet opens the first train, as the controller waits for its
// result.
//
// Order of calls: may_open() and packets() for a packet that could open a probe, then open(). During a probe,
// next_size() and on_left() for each of its packets, including the first.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "probing/line_estimate.hpp"
#include "probing/pair_meter.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::probing {

class ProbeSchedule {
  public:
    /// Limits of a probe.
    struct Bounds {
        std::uint32_t wanted = kPairPackets;  ///< packets that the controller wants
        Rate cap = Rate::infinite();          ///< the user's cap
        std::uint32_t datagram_bytes = 0;
    };
    /// A packet of the probe, as planned and as it left.
    struct Packet {
        bool first = false;
        std::size_t planned = 0;  ///< bytes
        std::size_t size = 0;     ///< bytes; 0: no packet was made
    };

    /// Whether packets of the current probe have yet to leave.
    [[nodiscard]] bool under_way() const noexcept { return left_ > 0; }
    /// Stream offset from which the packets of the probe take bytes. The path scheduler chose it.
    [[nodiscard]] std::uint64_t from() const noexcept { return from_; }

    /// A quick check whether packets() could return more than 0.
    [[nodiscard]] bool may_open(Instant now, PacketNumber number) const noexcept {
        return (number % kProbeEvery == 0 || !last_train_) && now - last_probe_ >= kPairSpacing;
    }
    /// Packets of the probe that packet `number` opens; 0: it opens none.
    [[nodiscard]] std::uint32_t packets(Instant now, PacketNumber number, const Bounds& bounds) const;
    void open(std::uint32_t packets, std::uint64_t from) noexcept {
        assert(left_ == 0);
        left_ = packets;
        step_ = packets > kUsualTrainPackets ? kLongSizeStep : kSizeStep;
        from_ = from;
    }
    /// Largest size of the next packet of the probe, for datagrams of `datagram_bytes`.
    [[nodiscard]] std::size_t next_size(std::size_t datagram_bytes) noexcept {
        assert(left_ > 0);
        return datagram_bytes - left_-- * step_;
    }
    /// A packet smaller than planned ends the probe, and so does the end of the data (`more` is false).
    void on_left(Instant now, const Packet& packet, bool more);
    void abandon() noexcept { left_ = 0; }

    /// Trains as they left here.
    [[nodiscard]] const TrainMeter& departures() const noexcept { return departures_; }

  private:
    [[nodiscard]] bool train_due(Instant now, const Bounds& bounds) const;

    std::uint32_t left_ = 0;        // packets
    std::size_t step_ = kSizeStep;  // bytes
    std::uint64_t from_ = 0;
    Instant last_probe_{};
    std::optional<Instant> last_train_;
    TrainMeter departures_;
};

}  // namespace udtx::probing
