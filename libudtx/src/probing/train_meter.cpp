#include "probing/train_meter.hpp"

#include <algorithm>
#include <utility>

namespace udtx::probing {

void TrainMeter::on_first(Instant time, bool spoilt) {
    finish();
    train_ = Train{.first = time,
                   .newest = {.time = time, .bytes = 0, .packets = 1},
                   .packets = 1,
                   .clumps = 1,
                   .first_end = {},
                   .last_end = {},
                   .spoilt = spoilt};
}

void TrainMeter::on_next(Instant time, std::uint32_t bytes, bool spoilt) {
    if (time - train_.newest.time >= min_gap_) {
        if (train_.clumps == 1) train_.first_end = train_.newest;
        train_.last_end = train_.newest;
        ++train_.clumps;
    }
    ++train_.packets;
    train_.newest = {.time = time, .bytes = train_.newest.bytes + bytes, .packets = train_.packets};
    train_.spoilt = train_.spoilt || spoilt;
}

void TrainMeter::finish() {
    const Train train = std::exchange(train_, Train{});
    if (train.packets < kLeastTrainPackets) return;  // mostly a single packet
    if (train.spoilt) return;
    seen_ = true;
    seen_at_ = train.newest.time;
    if (train.clumps == train.packets) {
        granularity_ = Duration::zero();
        const Duration length = train.newest.time - train.first;
        keep(train.newest.time,
             {.time_of_byte = static_cast<double>(length.count()) / static_cast<double>(train.newest.bytes)});
    } else {
        take_clumps(train);
    }
}

void TrainMeter::take_clumps(const Train& train) {
    if (train.clumps < 2) return;  // the line may be as fast as it likes
    if (train.clumps == 2) {
        const Duration length = train.newest.time - train.first;
        if (count_ > 0 && train.newest.time - last_ <= kTrainLife && agreed_.error < 1.0) return;
        keep(train.newest.time,
             {.time_of_byte = static_cast<double>(length.count()) / static_cast<double>(train.newest.bytes),
              .error = 1.0});
        return;
    }
    const Duration length = train.last_end.time - train.first_end.time;
    granularity_ = length / (train.clumps - 2);
    keep(train.newest.time, {.time_of_byte = static_cast<double>(length.count()) /
                                             static_cast<double>(train.last_end.bytes - train.first_end.bytes),
                             .error = 1.0 / (train.last_end.packets - train.first_end.packets)});
}

void TrainMeter::keep(Instant time, const Pass& pass) {
    // One that is resolved takes the place of all that only bound it.
    if (time - last_ > kTrainLife || (agreed_.error >= 1.0 && pass.error < 1.0)) count_ = 0;
    passes_[count_ % kTrains] = pass;
    ++count_;
    last_ = time;
    agree();
}

void TrainMeter::agree() {
    const auto known = static_cast<std::ptrdiff_t>(std::min(count_, kTrains));
    std::array<Pass, kTrains> sorted = passes_;
    const auto end = sorted.begin() + known;
    std::sort(sorted.begin(), end, [](const Pass& a, const Pass& b) { return a.time_of_byte < b.time_of_byte; });
    const auto within = [](const Pass& shorter, const Pass& longer) {
        return longer.time_of_byte <= (kTrainsAgree + std::min(shorter.error, 1.0)) * shorter.time_of_byte;
    };
    const auto confirmed = std::adjacent_find(sorted.begin(), end, within);
    if (confirmed == end) {
        const Pass& middle = sorted[static_cast<std::size_t>(known) / 2];
        agreed_ = {.time_of_byte = middle.time_of_byte, .error = middle.error};
        return;
    }
    // What stamps blur goes both ways: the mean of all that agree.
    double time = 0.0;
    double error = 0.0;
    double passes = 0.0;
    for (auto pass = confirmed; pass != end && within(*confirmed, *pass); ++pass) {
        time += pass->time_of_byte;
        error += pass->error;
        passes += 1.0;
    }
    agreed_ = {.time_of_byte = time / passes, .error = error / passes};
}

TrainMeter::Told TrainMeter::told(Instant now) const {
    return count_ > 0 && now - last_ <= kTrainLife ? agreed_ : Told{};
}

}  // namespace udtx::probing
