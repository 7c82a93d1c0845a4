// Links that are faster than the hosts: packets queue in the receiver's socket, which no delay measurement shows.
#include "congestion/udtx/seen.hpp"

#include <algorithm>
#include <deque>

#include "congestion/udtx/udtx.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr std::uint32_t kPacket = 1000;
constexpr std::int64_t kPerStep = 500;  // packets that each end handles in 1 ms: 4 Gbit/s
constexpr Duration kRtt = 100us;

/// The threads of both ends pause for 3 of each 12 ms, at different times.
class SlowEnds {
  public:
    explicit SlowEnds(std::int64_t socket_packets) : socket_(socket_packets) {}

    void run(int steps) {
        served = lost = 0;
        for (int i = 0; i < steps; ++i) step();
    }

    std::int64_t served = 0;
    std::int64_t lost = 0;
    Duration queue{};  // queueing delay of the link
    bool open = true;
    Udtx udtx{{.datagram_bytes = kPacket}};

  private:
    void step() {
        now_ += 1ms;
        ++steps_;
        if (steps_ % 12 >= 3) send();
        if ((steps_ + 6) % 12 >= 3) receive();
    }

    void send() {
        const auto window = static_cast<std::int64_t>(udtx.window() / kPacket);
        const double paced = std::min(udtx.pacing_rate().bytes_in(1ms) / kPacket, double{kPerStep});
        for (std::int64_t n = std::min(window - in_flight_, static_cast<std::int64_t>(paced)); n > 0; --n) {
            ++in_flight_;
            if (static_cast<std::int64_t>(waiting_.size()) < socket_)
                waiting_.push_back(next_);
            else
                gone_.push_back({next_, kPacket, now_});
            ++next_;
        }
        udtx.on_sent({.now = now_, .number = next_, .bytes = kPacket});
    }

    void receive() {
        const auto n = std::min<std::int64_t>(kPerStep, static_cast<std::int64_t>(waiting_.size()));
        if (n == 0) return;
        CongestionFeedback f;
        f.now = now_;
        f.largest_acked = waiting_[static_cast<std::size_t>(n) - 1];
        f.largest_sent = next_ - 1;
        f.acked_packets = static_cast<std::uint32_t>(n);
        f.acked_bytes = static_cast<std::uint64_t>(n) * kPacket;
        f.rtt_sample = kRtt;
        f.smoothed_rtt = kRtt;
        f.arrivals.push_back({f.largest_acked, now_ - kRtt, kRtt / 2 + queue});
        f.line = LineEstimate{.capacity = Rate::bytes_per_second(1e6 * kPacket), .only_least = open};
        // Models measurements over short round trips: 500 MB/s on average, sometimes far more.
        f.delivery = DeliverySample{Rate::bytes_per_second(steps_ % 4 == 0 ? 1250e6 : 250e6), 1ms, false};
        while (!gone_.empty() && gone_.front().number < f.largest_acked) {
            f.lost.push_back(gone_.front());
            gone_.pop_front();
        }
        waiting_.erase(waiting_.begin(), waiting_.begin() + n);
        served += n;
        lost += static_cast<std::int64_t>(f.lost.size());
        in_flight_ -= n + static_cast<std::int64_t>(f.lost.size());
        udtx.on_feedback(f);
    }

    std::int64_t socket_;
    Instant now_ = Instant(1h);
    int steps_ = 0;
    PacketNumber next_ = 0;
    std::int64_t in_flight_ = 0;
    std::deque<PacketNumber> waiting_;
    std::deque<CongestionLost> gone_;
};

}  // namespace

TEST_CASE("udtx ends: losses make the room smaller, their absence larger, to the whole at most") {
    UdtxEnds ends;
    CongestionFeedback f;
    f.now = Instant(1h);
    const auto tell = [&](Duration later, double lost) {
        f.now += later;
        ends.on_feedback(f, {.low = 1000.0, .low_lost = lost});
    };
    const auto syn = [&](double lost) { tell(kSynInterval, lost); };
    syn(0.0);
    CHECK(ends.fit() == 1.0);
    syn(9.0);  // at the level of random loss on links
    CHECK(ends.fit() == 1.0);
    syn(100.0);
    CHECK(ends.fit() == Approx(0.7));
    tell(1ms, 1000.0);  // the room changes only once per SYN
    CHECK(ends.fit() == Approx(0.7));
    f.smoothed_rtt = 50ms;  // or once per round trip
    tell(40ms, 0.0);
    CHECK(ends.fit() == Approx(0.7));
    tell(10ms, 0.0);
    CHECK(ends.fit() == Approx(0.7 * 0.7));
    f.smoothed_rtt = 1ms;
    f.application_limited = true;  // unused room shows nothing
    syn(0.0);
    CHECK(ends.fit() == Approx(0.7 * 0.7));
    f.application_limited = false;
    for (int i = 0; i < 30; ++i) syn(100.0);
    CHECK(ends.fit() == Approx(1.0 / 32.0));
    for (int i = 0; i < 400; ++i) syn(0.0);
    CHECK(ends.fit() == 1.0);
}

TEST_CASE("udtx ends: both are kept busy while the other's thread waits") {
    SlowEnds ends(1'000'000);
    ends.run(1000);
    ends.run(3000);
    CHECK(ends.lost == 0);
    CHECK(static_cast<double>(ends.served) > 0.95 * 0.75 * 3000 * kPerStep);
}

TEST_CASE("udtx ends: no room for a late thread where a queue shows, or on a line slower than trains") {
    SlowEnds open(1'000'000);
    open.run(1000);
    const std::uint64_t without = open.udtx.window();
    open.queue = 5ms;
    open.run(3);
    CHECK(static_cast<double>(open.udtx.window()) < 0.6 * static_cast<double>(without));

    SlowEnds slower(1'000'000);
    slower.open = false;
    slower.run(1000);
    CHECK(static_cast<double>(slower.udtx.window()) < 0.4 * static_cast<double>(without));
}

TEST_CASE("udtx ends: a small socket overflows seldom") {
    SlowEnds ends(300);
    ends.run(1000);
    ends.run(3000);
    CHECK(static_cast<double>(ends.lost) < 0.02 * static_cast<double>(ends.served));
    CHECK(ends.served > 3000 * 300 * 4 / 10);  // of the packets that the socket could hold over the whole time
}
