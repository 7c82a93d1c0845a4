// Transmission-status monitoring (TSM): tells from the sender's record alone that one path holds the others up.
//
//   TransmitTimes_i = NoPkt_i / MaxCwnd_i        (eq. 1)
//
// NoPkt_i counts what path i was given and the receiver has not delivered: on a healthy path that grows when its bytes
// wait behind those of a bloated one. So any path's value raises the alarm, and the culprit is the path of the entry
// that the receiver waits for. docs/lab/controllers.md says how the paper's ambiguities were resolved.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "base/sliding_extreme.hpp"
#include "multipath/path_map.hpp"
#include "multipath/transmission_record.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class StatusMonitor {
  public:
    static constexpr Duration kWindowMemory = std::chrono::seconds(10);  ///< MaxCwnd_i: largest of so long
    static constexpr double kMeanTime = 1.0;                             ///< tau of the send buffer's mean, s
    static constexpr double kThreshold = 3.0;                            ///< times the ratio of the base RTTs ...
    static constexpr double kMaxThreshold = 10.0;                        ///< ... up to this

    /// Call now and then: on acknowledgements and when packets leave. `send_buffer`: bytes sent that the receiver has
    /// not delivered yet.
    void update(Instant now, std::uint64_t send_buffer, const TransmissionRecord& record,
                std::span<const PathView> paths);

    /// The path that holds the others up; nullopt: all is well.
    [[nodiscard]] std::optional<PathId> culprit() const noexcept { return culprit_; }
    [[nodiscard]] double transmit_times(PathId path) const;
    [[nodiscard]] double threshold() const noexcept { return threshold_; }

  private:
    struct PathState {
        SlidingExtreme<double, std::greater<>> windows{kWindowMemory};  // in flight, packets
        double transmit_times = 0.0;
    };
    void set_threshold(std::span<const PathView> paths);

    PathMap<PathState> states_;
    double threshold_ = kThreshold;
    double mean_ = 0.0;  // of the send buffer
    std::optional<Instant> updated_;
    std::optional<PathId> culprit_;
};

}  // namespace udtx::multipath
