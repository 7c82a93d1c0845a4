#include "recovery/loss_recovery.hpp"

#include <algorithm>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Duration;
using udtx::Instant;
using udtx::recovery::DeliveryRate;
using udtx::recovery::SentPacket;

namespace {
SentPacket packet(std::uint64_t number, Duration sent) {
    SentPacket p;
    p.number = number;
    p.sent = Instant(sent);
    p.bytes = 1250;
    p.in_flight = true;
    return p;
}
}  // namespace

TEST_CASE("delivery rate: bytes delivered since the packet left, over the slower phase") {
    DeliveryRate rate;
    std::vector<SentPacket> sent;
    for (std::uint64_t i = 0; i < 200; ++i) {
        // One packet per millisecond, acknowledged 100 ms later: 10 Mbit/s.
        const Duration now = std::chrono::milliseconds(i);
        if (i >= 100) {
            rate.on_acked(sent[i - 100], Instant(now));
            const auto sample = rate.take_sample(100ms);
            REQUIRE(sample);
            CHECK(sample->interval == Instant(now) - sent[i - 100].delivered_time);
        }
        sent.push_back(packet(i, now));
        rate.on_sent(sent.back(), i == 0 ? 0 : 1250 * std::min<std::uint64_t>(i, 99));
    }
    // When packet 100 was sent (at 100 ms), 1 packet was delivered; at 200 ms 101 are: 100 x 1250 B in 100 ms.
    rate.on_acked(sent[100], Instant(200ms));
    const auto sample = rate.take_sample(100ms);
    REQUIRE(sample);
    CHECK(sample->interval == 100ms);
    CHECK(sample->rate.bps() == Approx(10e6));
    CHECK(rate.delivered() == 101 * 1250);
    CHECK_FALSE(rate.take_sample(100ms));  // nothing new
}

TEST_CASE("delivery rate: compressed acknowledgements do not inflate the rate") {
    DeliveryRate rate;
    std::vector<SentPacket> sent;
    for (std::uint64_t i = 0; i < 10; ++i) {
        sent.push_back(packet(i, std::chrono::milliseconds(10 * i)));
        rate.on_sent(sent.back(), i * 1250);
    }
    for (const auto& p : sent) rate.on_acked(p, Instant(150ms));  // one batch
    const auto sample = rate.take_sample(50ms);
    REQUIRE(sample);
    CHECK(sample->interval == 150ms);
    CHECK(sample->rate.bps() == Approx(10 * 1250 * 8 / 0.150));
}

TEST_CASE("delivery rate: too short an interval gives no sample, an idle sender marked ones") {
    DeliveryRate rate;
    SentPacket first = packet(0, 0ms);
    rate.on_sent(first, 0);
    rate.on_acked(first, Instant(10ms));
    CHECK_FALSE(rate.take_sample(20ms));

    rate.set_application_limited(0);
    SentPacket second = packet(1, 100ms);
    rate.on_sent(second, 0);
    CHECK(second.application_limited);
    rate.on_acked(second, Instant(120ms));
    const auto sample = rate.take_sample(10ms);
    REQUIRE(sample);
    CHECK(sample->application_limited);
    SentPacket third = packet(2, 130ms);
    rate.on_sent(third, 0);
    CHECK_FALSE(third.application_limited);  // the mark ended when the data in flight at that time was acknowledged
}
