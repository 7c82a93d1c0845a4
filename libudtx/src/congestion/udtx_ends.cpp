#include "congestion/udtx_ends.hpp"

namespace udtx::congestion {

namespace {

constexpr double kOverflow = 0.005;  // of the packets of a SYN: more is taken for a full socket
constexpr double kLess = 0.7;
constexpr double kMore = 1.01;  // a SYN
constexpr double kLeast = 1.0 / 32.0;

}  // namespace

void UdtxEnds::on_feedback(Instant now, double packets, double lost) {
    packets_ += packets;
    lost_ += lost;
    if (now - judged_ < kSynInterval || packets_ <= 0.0) return;
    fit_ = std::clamp(fit_ * (lost_ > kOverflow * packets_ ? kLess : kMore), kLeast, 1.0);
    judged_ = now;
    packets_ = lost_ = 0.0;
}

}  // namespace udtx::congestion
