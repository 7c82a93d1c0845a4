#include "io/receive_trouble.hpp"

#include <algorithm>

#include "os/system_failure.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::io {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(1);
/// A refusal that lasts this long is reported.
constexpr Duration kTellAfter = std::chrono::seconds(1);

}  // namespace

std::optional<Error> ReceiveTrouble::refused(int error) {
    const Instant now = monotonic_now();
    if (stage_ == Stage::none) {
        stage_ = Stage::young;
        since_ = now;
        pause_ = kFirstPause;
    }
    again_at_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    const bool over = now - since_ >= Driver::kReceivesNothing;
    if (!over && now - since_ < kTellAfter) return std::nullopt;
    // Not `network`: the peer is not to blame, and no other address of it helps.
    const Error why = system_failure(ErrorCode::no_route, "the system refuses to receive on the UDP socket", error);
    const Stage next = over ? Stage::over : Stage::told;
    if (std::exchange(stage_, next) != next && tell_) tell_(why, over);
    return over ? std::optional(why) : std::nullopt;
}

}  // namespace udtx::io
