#include "recovery/arrival_samples.hpp"

#include <algorithm>

namespace udtx::recovery {

void ArrivalSamples::on_newest(Instant time, PacketNumber number, bool after_gap, bool spread) {
    if (after_gap && newest_) {
        newest_->beside_gap = true;
        keep(*newest_, spread);
    }
    newest_ = Sample{time, number, after_gap};
    // Usually this is the rest of a batch. Its number replaces that of the earlier packet, without reading newest_,
    // which was just stored.
    if (count_ > 0 && !after_gap && kept_[count_ - 1].time == time && !kept_[count_ - 1].beside_gap) {
        kept_[count_ - 1].number = number;
        return;
    }
    const bool due = count_ == 0 || number - kept_[count_ - 1].number >= every_;
    if (after_gap || due || kept_[count_ - 1].time == time) keep(*newest_, spread);
}

void ArrivalSamples::keep(const Sample& sample, bool spread) {
    if (count_ > 0) {
        Sample& last = kept_[count_ - 1];
        if (last.number == sample.number) return;
        if (last.time == sample.time && !last.beside_gap) {
            last = sample;
            return;
        }
    }
    // One entry is reserved for the newest packet.
    if (spread && count_ + 1 == kept_.size()) thin_out();
    if (count_ + 1 < kept_.size()) kept_[count_++] = sample;
}

void ArrivalSamples::thin_out() {
    every_ *= 2;
    std::size_t left = 0;
    for (std::size_t i = 0; i < count_; i += 2) kept_[left++] = kept_[i];
    count_ = left;
}

void ArrivalSamples::take(Instant largest_time, std::size_t most, wire::AckFrame& frame) {
    every_ = wire::kArrivalEvery;
    if (count_ > 0 && newest_ && kept_[count_ - 1].number != newest_->number) kept_[count_++] = *newest_;
    frame.arrival_count = 0;
    const std::size_t step = (count_ + most - 1) / most;
    for (std::size_t i = step == 0 ? 0 : (count_ - 1) % step; i < count_; i += step) {
        if (kept_[i].number > frame.largest()) continue;
        const auto before = std::chrono::duration_cast<std::chrono::microseconds>(largest_time - kept_[i].time).count();
        frame.arrivals[frame.arrival_count++] = {kept_[i].number,
                                                 static_cast<std::uint64_t>(std::max<std::int64_t>(before, 0))};
    }
    count_ = 0;
}

}  // namespace udtx::recovery
