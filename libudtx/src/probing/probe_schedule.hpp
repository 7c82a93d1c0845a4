// When a pair or a train of packets leaves to probe the line, and how long it is.
//
// Every kProbeEvery-th packet opens a pair, at most one each kPairSpacing; where the controller wants trains, one each
// kTrainSpacing takes a pair's place. The first train opens with the first packet: its controller waits for what it
// tells.
//
// Calls: may_open() and packets() for a packet that could open a probe; then open(). While one is under way,
// next_size() and on_left() for each of its packets, the first included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "probing/constants.hpp"
#include "probing/train_meter.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class ProbeSchedule {
  public:
    /// What bounds a probe.
    struct Bounds {
        std::uint32_t wanted = kPairPackets;  ///< packets, by the controller
        Rate cap = Rate::infinite();          ///< the user's
        std::uint32_t datagram_bytes = 0;
    };
    /// One of its packets, as planned and as it became.
    struct Packet {
        bool first = false;
        std::size_t planned = 0;  ///< bytes
        std::size_t size = 0;     ///< bytes; 0: none came
    };

    /// Packets of a probe are still to leave.
    [[nodiscard]] bool under_way() const noexcept { return left_ > 0; }
    /// Stream offset from which on its packets take bytes, as the path scheduler chose it.
    [[nodiscard]] std::uint64_t from() const noexcept { return from_; }

    /// Whether it is worth asking for packets().
    [[nodiscard]] bool may_open(Instant now, PacketNumber number) const noexcept {
        return (number % kProbeEvery == 0 || !last_train_) && now - last_probe_ >= kPairSpacing;
    }
    /// Packets of the probe that packet `number` opens; 0: it opens none.
    [[nodiscard]] std::uint32_t packets(Instant now, PacketNumber number, const Bounds& bounds) const;
    void open(std::uint32_t packets, std::uint64_t from) noexcept {
        left_ = packets;
        step_ = packets > kUsualTrainPackets ? kLongSizeStep : kSizeStep;
        from_ = from;
    }
    /// At most so large is the next packet of the probe, of datagrams of `datagram_bytes`.
    [[nodiscard]] std::size_t next_size(std::size_t datagram_bytes) noexcept {
        return datagram_bytes - left_-- * step_;
    }
    /// A packet that is not as large as planned ends the probe; so does a lack of `more` data.
    void on_left(Instant now, const Packet& packet, bool more);
    void abandon() noexcept { left_ = 0; }

    /// Trains as they leave here.
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
