#include "congestion/scavenger/company.hpp"

#include <algorithm>

namespace udtx::congestion {

namespace {

constexpr double kShareAverage = 1.0 / 4;                     // weight of a new round trip
constexpr double kPresent = 0.6;                              // of C: below this share others are present
constexpr double kAlone = 0.8;                                // of C: from this share on they have gone
constexpr Duration kTarget = std::chrono::microseconds(600);  // less than the queue that one `udtx` keeps
constexpr double kCautious = 0.5;                             // of the growth of a flow alone
constexpr Duration kEmpty = std::chrono::seconds(5);          // after so long without a queue, others have gone
constexpr Duration kTrialInterval = std::chrono::seconds(30);
constexpr int kTrialRounds = 64;                             // from two packets to the share of a link, at 1/8 each
constexpr Duration kForeign = std::chrono::milliseconds(5);  // the flow itself never exceeds its target by so much

}  // namespace

void ScavengerCompany::on_round(const Round& round) {
    rtt_ = round.rtt;
    round_queue_ = round.longest;
    if (round.longest >= kTarget) busy_ = round.now;
    if (!round.share) return;
    share_ += kShareAverage * (*round.share - share_);
    const bool before = present_;
    present_ = share_ < (before ? kAlone : kPresent);
    if (present_ && !before) busy_ = round.now;
}

void ScavengerCompany::on_feedback(Instant now, Duration queue, Duration most) {
    const bool over = trial_until_ && (now >= *trial_until_ || foreign(queue, most));
    if (!present_ || over) {
        last_trial_ = now;
        trial_until_.reset();
    } else if (!trial_until_ && now - last_trial_ >= kTrialInterval) {
        trial_until_ = now + kTrialRounds * rtt_;
        // A `low` flow that believes to be alone keeps a queue of `most`. A queue of twice that shows it that it is
        // not.
        trial_target_ = round_queue_ < most / 2 ? most : 2 * most;
    }
}

void ScavengerCompany::on_overflow(Instant now) {
    busy_ = now;
    if (trial_until_) trial_until_ = now;
}

Duration ScavengerCompany::target(Duration most) const {
    if (trial_until_) return trial_target_;
    return present_ ? kTarget : most;
}

bool ScavengerCompany::foreign(Duration queue, Duration most) const {
    return queue > target(most) + std::max(most, kForeign);
}

double ScavengerCompany::growth(Instant now, double alone) const {
    if (!present_) return alone;
    if (trial_until_ || now - busy_ > kEmpty) return kFastGrowth;
    return std::max(kCautious * alone, std::min(alone, kLeastGrowth));
}

}  // namespace udtx::congestion
