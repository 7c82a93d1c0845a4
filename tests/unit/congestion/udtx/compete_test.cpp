// udtx beside flows that fill the queue: it uses CUBIC's window, and fixes a share beside flows that ignore losses.
#include "congestion/udtx/compete.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr Instant kStart = Instant(1h);

}  // namespace

TEST_CASE("udtx beside queue fillers: its window is CUBIC's") {
    UdtxCompete compete;
    compete.enter(kStart, {.window = 100e3, .goal = 200e3, .share = 1e6});
    UdtxCompete::Path path{.queue = 0.05, .rtt = 0.1, .segment = 1000.0};
    CongestionFeedback f;
    f.now = kStart;
    f.acked_packets = 20;
    f.acked_bytes = 20'000;
    for (int i = 1; i <= 600; ++i) {
        f.now = kStart + 10ms * i;
        compete.on_feedback(f, path);
    }
    // K = cbrt(100 / 0.4) = 6.3 s: the window has reached the plateau.
    CHECK(compete.window() > 190e3);
    CHECK(compete.window() < 210e3);
    const double before = compete.window();
    f.lost.push_back({1000, 1000, f.now});
    f.largest_sent = 1200;
    path.congestion_losses = 1;
    compete.on_feedback(f, path);
    CHECK(compete.window() == Approx(0.7 * before).epsilon(0.01));
    compete.on_feedback(f, path);  // a second report in the same round
    CHECK(compete.window() > 0.69 * before);
}

namespace {

/// 10,000 packets/s beside other flows that empty the queue for a moment each `pause`, with `lost` packets each 500 ms.
void compete_with(UdtxCompete& compete, double seconds, Duration pause, std::uint32_t lost) {
    CongestionFeedback f;
    f.acked_packets = 100;
    f.acked_bytes = 100'000;
    for (Duration t = 10ms; to_seconds(t) < seconds; t += 10ms) {
        const bool burst = t % 500ms == Duration::zero();
        f.now = kStart + t;
        f.largest_sent += 100;
        f.lost.clear();
        if (burst) f.lost.push_back({f.largest_sent - 50, 1000, f.now});
        compete.on_feedback(
            f, {.congestion_losses = burst ? lost : 0, .queue = 0.05, .rtt = 0.1, .segment = 1000.0, .may_fix = true});
        CHECK_FALSE(compete.over(f.now, t % pause < 200ms, false, 0.1));
    }
}

}  // namespace

TEST_CASE("udtx beside queue fillers: fixes its share where others pause, and only there") {
    constexpr double share = 5e6;  // 5 of the 10 MB/s
    UdtxCompete beside_cubic;
    beside_cubic.enter(kStart, {.window = 300e3, .goal = 500e3, .share = share});
    compete_with(beside_cubic, 12.0, 1h, 50);
    CHECK_FALSE(beside_cubic.fixed());

    UdtxCompete beside_bbr;
    beside_bbr.enter(kStart, {.window = 300e3, .goal = 500e3, .share = share});
    compete_with(beside_bbr, 18.0, 5s, 50);
    CHECK(beside_bbr.fixed());
    CHECK(beside_bbr.window() >= 0.95 * share * 0.1);

    UdtxCompete flooded;  // at 20 % loss it gives up its share
    flooded.enter(kStart, {.window = 300e3, .goal = 500e3, .share = share});
    compete_with(flooded, 14.0, 5s, 1250);
    CHECK(flooded.window() < 0.3 * share * 0.1);
}
