#include "io/stream_count.hpp"

#include <algorithm>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::io::StreamCount;

namespace {

/// A path that carries `each` bytes per second for one connection, and `all` for all of them.
struct Path {
    double each;
    double all;

    /// Runs for `time`, and returns how many connections carry the data at the end.
    std::size_t run(udtx::Duration time, std::size_t* most = nullptr) const {
        StreamCount count;
        std::size_t open = 1;
        double bytes = 0.0;
        for (Instant now{1h}; now < Instant{1h} + time; now += 10ms) {
            bytes += 0.01 * std::min(each * static_cast<double>(open), all);
            const auto wish = count.look(now, static_cast<std::uint64_t>(bytes));
            if (wish == StreamCount::Wish::open) {
                ++open;
                count.on_opened(now);
            }
            if (wish == StreamCount::Wish::close_newest) --open;
            if (most != nullptr) *most = std::max(*most, open);
            CHECK(open == count.count());
        }
        return open;
    }
};

}  // namespace

TEST_CASE("a path that one TCP connection fills keeps one") {
    std::size_t most = 0;
    CHECK(Path{.each = 1e8, .all = 1e7}.run(60s, &most) == 1);
    CHECK(most == 2);
}

TEST_CASE("where each TCP connection is limited, as many are used as carry more") {
    CHECK(Path{.each = 1e6, .all = 1e9}.run(60s) == StreamCount::kMost);
    CHECK(Path{.each = 1e6, .all = 2e6}.run(60s) == 2);
    CHECK(Path{.each = 1e6, .all = 3e6}.run(60s) == 3);
    // The third would bring a fifth of a share.
    CHECK(Path{.each = 1e6, .all = 2.2e6}.run(60s) == 2);
}

TEST_CASE("while little is sent, no further TCP connection is opened") {
    CHECK(Path{.each = 1e4, .all = 1e4}.run(60s) == 1);
}

TEST_CASE("after a failure no further TCP connection is tried, until the data comes back to TCP") {
    StreamCount count;
    std::uint64_t bytes = 0;
    Instant now{1h};
    while (count.look(now, bytes += 10'000) != StreamCount::Wish::open) now += 10ms;
    count.on_failed();
    CHECK(count.next() == Instant::max());
    CHECK(count.look(now + 1h, bytes) == StreamCount::Wish::nothing);
    count.restart(now);
    CHECK(count.count() == 1);
    CHECK(count.next() == now + StreamCount::kSettle);
}
