// How a transfer went so far, in as many samples as fit a chart: when they are full, neighbours become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace udtx::apps {

/// Of one path in one interval. Not a number: not known at this end.
struct LineSample {
    std::uint32_t line = 0;   ///< see PageData
    double rate_bps = 0.0;    ///< what it carries
    double rtt_ms = 0.0;      ///< smoothed
    double loss = 0.0;        ///< of the packets of this interval, 0 to 1
    double congestion = 0.0;  ///< congestion degree, 0 to 1
    double in_flight = 0.0;   ///< bytes
};

struct Sample {
    double at = 0.0;        ///< seconds since the start
    double rate_bps = 0.0;  ///< file bytes done
    double cap_bps = 0.0;   ///< not a number: there is none
    double done = 0.0;      ///< file bytes
    double queued = 0.0;    ///< file bytes handed to the transport and not known to be written
    std::vector<LineSample> lines{};
};

/// Several in a row as one: the means, and of what grows the last.
[[nodiscard]] Sample merged(std::span<const Sample> samples);

class History {
  public:
    static constexpr std::size_t kMost = 600;

    void add(Sample sample);
    /// At most kMost + 1, oldest first.
    [[nodiscard]] std::vector<Sample> samples() const;

  private:
    std::vector<Sample> samples_;
    std::vector<Sample> waiting_;  ///< fewer than stride_
    std::size_t stride_ = 1;       ///< so many that came are one of samples_
};

}  // namespace udtx::apps
