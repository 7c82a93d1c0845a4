#include "probing/train_meter.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace udtx::probing {

namespace {

// The shortest that another one confirms. Reorders `values`.
double shortest_agreed(std::span<double> values) {
    std::sort(values.begin(), values.end());
    const auto confirmed = std::adjacent_find(
        values.begin(), values.end(), [](double shorter, double longer) { return longer <= kTrainsAgree * shorter; });
    return confirmed != values.end() ? *(confirmed + 1) : values[values.size() / 2];
}

}  // namespace

void TrainMeter::on_first(Instant time, bool spoilt) {
    finish();
    train_ = Train{.first = time, .last = time, .packets = 1, .bytes_after = 0, .spoilt = spoilt};
}

void TrainMeter::on_next(Instant time, std::uint32_t bytes, bool spoilt) {
    train_.last = time;
    ++train_.packets;
    train_.bytes_after += bytes;
    train_.spoilt = train_.spoilt || spoilt;
}

void TrainMeter::finish() {
    const std::uint32_t packets = std::exchange(train_.packets, 0);
    if (packets < kLeastTrainPackets) return;  // mostly a single packet
    const Train& train = train_;
    if (train.spoilt) return;
    const Duration length = train.last - train.first;
    if (length < min_gap_ * (packets - 1)) return;
    if (train.last - last_ > kTrainLife) count_ = 0;
    times_[count_ % kTrains] = static_cast<double>(length.count()) / static_cast<double>(train.bytes_after);
    ++count_;
    last_ = train.last;
    std::array<double, kTrains> sorted = times_;
    agreed_ = shortest_agreed(std::span(sorted.data(), std::min(count_, kTrains)));
}

double TrainMeter::time_of_byte(Instant now) const { return count_ > 0 && now - last_ <= kTrainLife ? agreed_ : 0.0; }

}  // namespace udtx::probing
