#include "page/history.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace udtx::apps {
namespace {

/// Mean of the values that are known.
class Mean {
  public:
    void add(double value) {
        if (std::isnan(value)) return;
        sum_ += value;
        ++count_;
    }
    [[nodiscard]] double value() const { return count_ == 0 ? std::nan("") : sum_ / count_; }

  private:
    double sum_ = 0.0;
    int count_ = 0;
};

template <class Item, class Field>
double mean_of(const std::vector<const Item*>& items, Field Item::*field) {
    Mean mean;
    for (const Item* item : items) mean.add(item->*field);
    return mean.value();
}

LineSample merged_line(std::uint32_t line, std::span<const Sample> samples) {
    std::vector<const LineSample*> same;
    for (const Sample& sample : samples) {
        for (const LineSample& candidate : sample.lines) {
            if (candidate.line == line) same.push_back(&candidate);
        }
    }
    return {line,
            mean_of(same, &LineSample::rate_bps),
            mean_of(same, &LineSample::rtt_ms),
            mean_of(same, &LineSample::loss),
            mean_of(same, &LineSample::congestion),
            mean_of(same, &LineSample::in_flight)};
}

}  // namespace

Sample merged(std::span<const Sample> samples) {
    std::vector<const Sample*> all;
    std::vector<std::uint32_t> lines;
    for (const Sample& sample : samples) {
        all.push_back(&sample);
        for (const LineSample& line : sample.lines) {
            if (std::find(lines.begin(), lines.end(), line.line) == lines.end()) lines.push_back(line.line);
        }
    }
    Sample out;
    out.at = samples.back().at;
    out.rate_bps = mean_of(all, &Sample::rate_bps);
    out.cap_bps = mean_of(all, &Sample::cap_bps);
    out.done = samples.back().done;
    out.queued = mean_of(all, &Sample::queued);
    for (const std::uint32_t line : lines) out.lines.push_back(merged_line(line, samples));
    return out;
}

void History::add(Sample sample) {
    waiting_.push_back(std::move(sample));
    if (waiting_.size() < stride_) return;
    samples_.push_back(merged(waiting_));
    waiting_.clear();
    if (samples_.size() < kMost) return;
    for (std::size_t i = 0; i < kMost / 2; ++i) samples_[i] = merged(std::span(samples_).subspan(2 * i, 2));
    samples_.resize(kMost / 2);
    stride_ *= 2;
}

std::vector<Sample> History::samples() const {
    std::vector<Sample> out = samples_;
    if (!waiting_.empty()) out.push_back(merged(waiting_));
    return out;
}

}  // namespace udtx::apps
