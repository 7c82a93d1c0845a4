// The history of a transfer, in as many samples as fit a chart. When they are full, neighbouring samples are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace udtx::apps {

/// One path in one interval. A value that this end does not know is NaN.
struct LineSample {
    std::uint32_t line = 0;   ///< see PageData
    double rate_bps = 0.0;    ///< carried by the path
    double rtt_ms = 0.0;      ///< smoothed
    double loss = 0.0;        ///< share of this interval's packets, 0 to 1
    double congestion = 0.0;  ///< congestion degree, 0 to 1
    double in_flight = 0.0;   ///< bytes
};

struct Sample {
    double at = 0.0;        ///< seconds since the start
    double rate_bps = 0.0;  ///< file bytes done
    double cap_bps = 0.0;   ///< NaN: there is no cap
    double done = 0.0;      ///< file bytes
    double queued = 0.0;    ///< file bytes handed to the transport, without confirmation that they are written
    std::vector<LineSample> lines{};
};

/// Merges consecutive samples: means, and the last value of growing counters.
[[nodiscard]] Sample merged(std::span<const Sample> samples);

class History {
  public:
    static constexpr std::size_t kMost = 600;

    void add(Sample sample);
    /// At most kMost + 1, oldest first.
    [[nodiscard]] std::vector<Sample> samples() const;

  private:
    std::vector<Sample> samples_;
    std::vector<Sample> waiting_;  ///< fewer than stride_ samples
    std::size_t stride_ = 1;       ///< input samples per element of samples_
};

}  // namespace udtx::apps
