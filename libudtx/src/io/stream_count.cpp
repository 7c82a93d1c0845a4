#include "io/stream_count.hpp"

namespace udtx::io {
namespace {

/// Less than this says nothing about the path: there is little to send.
constexpr double kLeastBytesPerSecond = 50'000.0;

}  // namespace

void StreamCount::decide() {
    stage_.enter(Stage::decided);
    next_ = Instant::max();
}

StreamCount::Wish StreamCount::look(Instant now, std::uint64_t bytes) {
    if (now < next_) return Wish::nothing;
    if (stage_ == Stage::settling) {
        stage_.enter(Stage::measuring);
        since_ = now;
        bytes_ = bytes;
        next_ = now + kMeasure;
        return Wish::nothing;
    }
    if (stage_ != Stage::measuring) return Wish::nothing;
    const double rate = static_cast<double>(bytes - bytes_) / to_seconds(now - since_);
    if (rate < kLeastBytesPerSecond) {
        stage_.enter(Stage::settling);
        next_ = now;
        return Wish::nothing;
    }
    const double share = count_ > 1 ? before_ / static_cast<double>(count_ - 1) : 0.0;
    if (rate < before_ + share / 2) {
        decide();
        --count_;
        return Wish::close_newest;
    }
    before_ = rate;
    if (count_ == kMost) {
        decide();
        return Wish::nothing;
    }
    stage_.enter(Stage::opening);
    next_ = Instant::max();
    return Wish::open;
}

void StreamCount::on_opened(Instant now) {
    ++count_;
    stage_.enter(Stage::settling);
    next_ = now + kSettle;
}

void StreamCount::on_failed() noexcept { decide(); }

void StreamCount::restart(Instant now) noexcept { *this = StreamCount(), next_ = now + kSettle; }

}  // namespace udtx::io
