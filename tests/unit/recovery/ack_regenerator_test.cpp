#include "recovery/ack_regenerator.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::recovery::AckRegenerator;

namespace {

Instant at(Duration d) { return Instant(d); }

void send(AckRegenerator& r, std::uint64_t from, std::uint64_t to, std::uint64_t size = 1000) {
    for (; from < to; from += size) r.on_data(from, from + size);
}

}  // namespace

TEST_CASE("regenerator: one acknowledgement for each segment, at its border") {
    AckRegenerator r;
    send(r, 0, 5000);
    r.on_data(5000, 5400);
    send(r, 5400, 9400);
    CHECK(r.runs() == 2);  // consecutive segments of equal size need one entry
    const auto series = r.on_ack(at(10ms), 7400);
    CHECK(series.acks == std::vector<std::uint64_t>{1000, 2000, 3000, 4000, 5000, 5400, 6400, 7400});
    CHECK(r.outstanding() == 2000);
    CHECK(r.on_ack(at(20ms), 9400).acks == std::vector<std::uint64_t>{8400, 9400});
    CHECK(r.runs() == 0);
}

TEST_CASE("regenerator: a segment that repeats old bytes and adds new ones counts with the new ones") {
    AckRegenerator r;
    send(r, 0, 3000);
    r.on_data(2000, 3600);
    CHECK(r.outstanding() == 3600);
    CHECK(r.on_ack(at(10ms), 3600).acks == std::vector<std::uint64_t>{1000, 2000, 3000, 3600});
}

TEST_CASE("regenerator: old and repeated acknowledgements pass as they are") {
    AckRegenerator r;
    send(r, 0, 9000);
    REQUIRE(r.on_ack(at(10ms), 4000).acks.size() == 4);
    CHECK(r.on_ack(at(11ms), 4000).acks == std::vector<std::uint64_t>{4000});
    CHECK(r.on_ack(at(12ms), 2000).acks == std::vector<std::uint64_t>{2000});
    CHECK(r.on_ack(at(13ms), 6000).acks == std::vector<std::uint64_t>{6000});  // its data had arrived behind a gap
    CHECK(r.on_ack(at(14ms), 8000).acks == std::vector<std::uint64_t>{7000, 8000});
}

TEST_CASE("regenerator: only intervals below the mean count, and all leave before the next one") {
    AckRegenerator r;
    send(r, 0, 100000);
    Duration now = 0ms;
    std::uint64_t ack = 0;
    // 40, 40, 40 and a wait of 280 ms: the mean is 100 ms, so the effective interval is 40 ms.
    for (const Duration gap : {0ms, 40ms, 40ms, 40ms, 280ms}) {
        now += gap;
        ack += 4000;
        const auto series = r.on_ack(at(now), ack);
        if (gap == 280ms) {
            CHECK(r.effective_interval() == 40ms);
            CHECK(series.spacing == 40ms / static_cast<std::int64_t>(series.acks.size()));
        }
    }
}

TEST_CASE("regenerator: stops when outstanding bytes grow more slowly, and starts again with a retransmission") {
    AckRegenerator r;
    std::uint64_t sent = 10000;
    std::uint64_t acked = 0;
    send(r, 0, sent);
    Duration now = 0ms;
    const auto step = [&](std::uint64_t window_growth) {
        now += 10ms;
        acked += 1000;
        const auto made = r.on_ack(at(now), acked).acks.size();
        send(r, sent, sent + 1000 + window_growth);
        sent += 1000 + window_growth;
        return made;
    };
    for (int i = 0; i < 20; ++i) step(1000);  // slow start
    CHECK(r.probing());
    for (int i = 0; i < 12; ++i) step(i == 6 ? 1000 : 0);  // congestion avoidance
    CHECK_FALSE(r.probing());
    acked += 5000;
    CHECK(r.on_ack(at(now + 5ms), acked).acks.size() == 1);
    r.on_data(acked, acked + 1000);
    CHECK(r.probing());
    acked += 5000;
    CHECK(r.on_ack(at(now + 10ms), acked).acks.size() == 5);
}
