// ACK regeneration for paths with a narrow return path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::recovery {

// Regenerates acknowledgements that a narrow return path has filtered out (Ahn, Lee, Lim, "A Dynamic ACK Regeneration
// Scheme to Improve TCP Performance over Asymmetric Networks").
//
// It sees outgoing data and incoming acknowledgements. It says which acknowledgements to generate and how far apart.
// Numbers are positions in a byte stream that do not wrap.

class AckRegenerator {
  public:
    static constexpr std::size_t kIntervals = 64;  ///< between acknowledgements, from which the means are taken

    /// Acknowledgements in ascending order. The received one comes last. The first one is to be sent at once.
    struct Series {
        std::vector<std::uint64_t> acks;
        Duration spacing{};
    };

    /// A segment [begin, end) is sent.
    void on_data(std::uint64_t begin, std::uint64_t end);
    /// An acknowledgement of everything below `ack` arrives. Old and repeated ones are passed on unchanged, and so is
    /// the first one after repeats. That one acknowledges bytes that had arrived behind a gap, so nothing was filtered
    /// out. A sender in recovery would take each generated acknowledgement as the report of another gap.
    [[nodiscard]] Series on_ack(Instant now, std::uint64_t ack);

    /// The sender is still searching for its rate. Acknowledgements are generated only then (section 3.3).
    [[nodiscard]] bool probing() const noexcept { return probing_; }
    /// Bytes that were sent and are not acknowledged.
    [[nodiscard]] std::uint64_t outstanding() const noexcept { return highest_ > acked_ ? highest_ - acked_ : 0; }
    /// Mean of the intervals below the mean (equation 3).
    [[nodiscard]] Duration effective_interval() const;
    [[nodiscard]] std::size_t runs() const noexcept { return list_.size(); }

  private:
    static constexpr std::uint32_t kSlopeAcks = 4;
    static constexpr double kFallen = 0.5;  // of the steepest slope

    /// Consecutive segments of one size (figure 1).
    struct Run {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        std::uint64_t size = 0;
    };

    void note_interval(Instant now);
    void watch_slope(Instant now);
    void start_probing();
    [[nodiscard]] std::vector<std::uint64_t> take_until(std::uint64_t ack);

    std::deque<Run> list_;
    std::uint64_t acked_ = 0;
    std::uint64_t highest_ = 0;
    std::array<Duration, kIntervals> intervals_{};
    std::size_t interval_count_ = 0;
    std::optional<Instant> last_ack_;
    bool repeated_ = false;

    bool probing_ = true;
    std::optional<Instant> slope_from_;
    std::uint64_t slope_bytes_ = 0;
    std::uint32_t slope_acks_ = 0;
    double steepest_ = 0.0;  // bytes/s
};

// Presents an ACK that stands for many to a window-based controller as one ACK per packet. Each is reported when a wide
// return path would have delivered it (AckRegenerator). So the window opens, and packets leave, as steadily as they
// arrived.
//
// Only the controller waits. What the ACK says of losses, round trips and data counts at once.

class StretchAcks {
  public:
    static constexpr Duration kStep = std::chrono::milliseconds(1);  ///< time of ACKs that are reported together

    struct Acked {
        std::uint64_t bytes = 0;
        std::uint32_t packets = 0;
    };

    void on_sent(PacketNumber number) { regenerator_.on_data(number, number + 1); }
    /// The number is sent again: the sender had a timeout.
    void on_repeat(PacketNumber number) { regenerator_.on_data(number, number + 1); }
    /// An ACK up to `largest` arrives. `stretched`: ACKs are sparse. Returns what the controller is told now. That is
    /// everything still held back, to keep the order, and the first part of `acked` (all of it while the controller
    /// does not probe).
    [[nodiscard]] Acked on_ack(Instant now, PacketNumber largest, Acked acked, bool stretched);
    /// When more is due; nullopt if nothing is held back.
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] Acked take_due(Instant now);
    [[nodiscard]] const Acked& kept_back() const noexcept { return kept_; }
    [[nodiscard]] bool probing() const noexcept { return regenerator_.probing(); }

  private:
    AckRegenerator regenerator_;
    std::optional<PacketNumber> newest_;
    Acked all_;   // of the ACK that is being reported
    Acked kept_;  // the part of all_ that is still held back
    Instant told_;
    Instant from_;
    Duration spacing_{};
};

}  // namespace udtx::recovery
