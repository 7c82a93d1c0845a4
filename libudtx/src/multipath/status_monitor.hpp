// Transmission-status monitoring (TSM): finds out from the sender's record alone that one path holds up the others.
//
//   TransmitTimes_i = NoPkt_i / MaxCwnd_i        (eq. 1)
//
// NoPkt_i counts the entries of path i that the receiver has not delivered. It also grows on a healthy path, if that
// path's bytes wait behind those of a bloated one. So the value of any path raises the alarm. The culprit is the path
// of the entry that the receiver waits for. docs/lab/controllers.md explains how the paper's ambiguities were resolved.
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
    static constexpr Duration kWindowMemory = std::chrono::seconds(10);  ///< MaxCwnd_i is the maximum of this time
    static constexpr double kMeanTime = 1.0;                             ///< tau of the send buffer's mean, s
    static constexpr double kThreshold = 3.0;                            ///< times the ratio of the base RTTs ...
    static constexpr double kMaxThreshold = 10.0;                        ///< ... up to this

    /// Call it from time to time: on acknowledgements and when packets leave. `send_buffer`: bytes sent that the
    /// receiver has not delivered yet.
    void update(Instant now, std::uint64_t send_buffer, const TransmissionRecord& record,
                std::span<const PathView> paths);

    /// The path that holds up the others; nullopt: there is none.
    [[nodiscard]] std::optional<PathId> culprit() const noexcept { return culprit_; }
    [[nodiscard]] double transmit_times(PathId path) const;
    [[nodiscard]] double threshold() const noexcept { return threshold_; }

  private:
    struct PathState {
        SlidingExtreme<double, std::greater<>> windows{kWindowMemory};  // packets in flight
        double transmit_times = 0.0;
    };
    void set_threshold(std::span<const PathView> paths);

    PathMap<PathState> states_;
    double threshold_ = kThreshold;
    double mean_ = 0.0;  // mean of the send buffer, bytes
    std::optional<Instant> updated_;
    std::optional<PathId> culprit_;
};

}  // namespace udtx::multipath
