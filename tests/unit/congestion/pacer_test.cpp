#include "congestion/pacer.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::congestion::Pacer;

namespace {

/// Sends whole datagrams whenever the pacer allows; returns the bytes sent in [from, from + span).
std::uint64_t drive(Pacer& pacer, Instant from, Duration span, std::uint32_t bytes, int& wakeups) {
    std::uint64_t sent = 0;
    wakeups = 0;
    for (Instant now = from; now < from + span;) {
        ++wakeups;
        while (pacer.budget(now) >= bytes) {
            pacer.on_sent(now, bytes);
            sent += bytes;
        }
        const auto next = pacer.next_departure(now);
        REQUIRE(next);
        REQUIRE(*next > now);
        now = *next;
        REQUIRE(pacer.budget(now) >= bytes);  // no wake-up without something to send
    }
    return sent;
}

}  // namespace

TEST_CASE("pacer: an infinite rate does not pace") {
    Pacer pacer;
    pacer.set_rate(Instant(), Rate::infinite(), 1472);
    CHECK(pacer.budget(Instant()) == 1ULL << 62U);
    pacer.on_sent(Instant(), 1U << 30U);
    CHECK(pacer.budget(Instant()) == 1ULL << 62U);
    CHECK_FALSE(pacer.next_departure(Instant()));
}

TEST_CASE("pacer: fast rates leave in bursts of 250 us") {
    Pacer pacer;
    // 1 Gbit/s x 250 us = 31,250 B
    pacer.set_rate(Instant(), Rate::bits_per_second(1e9), 1250);
    CHECK(pacer.budget(Instant()) == 31'250);
    pacer.on_sent(Instant(), 31'250);
    CHECK(pacer.budget(Instant()) == 0);
    const auto next = pacer.next_departure(Instant());
    REQUIRE(next);
    CHECK(*next - Instant() >= 250us);
    CHECK(*next - Instant() < 251us);
    CHECK(pacer.budget(*next + 100us) == 43'750);   // a late timer loses no credit
    CHECK(pacer.budget(Instant() + 1s) == 93'750);  // credit is bounded

    int wakeups = 0;
    const auto sent = drive(pacer, Instant(), 1s, 1250, wakeups);
    CHECK(static_cast<double>(sent) == Approx(125e6).epsilon(0.001));
    CHECK(wakeups == Approx(4000).epsilon(0.01));
}

TEST_CASE("pacer: what a late thread missed is made good, what the window held back is not") {
    Pacer pacer;
    pacer.set_rate(Instant(), Rate::bits_per_second(1e9), 1250);
    pacer.on_sent(Instant(), 31'250);
    pacer.set_held(true, 64ms);
    CHECK(pacer.budget(Instant(3ms)) == 375'000);
    CHECK(pacer.budget(Instant(9ms)) == 500'000);  // at most a sixteenth of a round trip
    pacer.set_held(true, 1s);
    CHECK(pacer.budget(Instant(1s)) == 1'000'000);  // but at most 8 ms
    pacer.set_held(true, 1ms);
    CHECK(pacer.budget(Instant(3ms)) == 93'750);
    pacer.set_held(false, 64ms);
    CHECK(pacer.budget(Instant(3ms)) == 93'750);
}

TEST_CASE("pacer: slow rates leave datagram by datagram, two at most at once") {
    Pacer pacer;
    pacer.set_rate(Instant(), Rate::bits_per_second(1e6), 1250);  // one datagram each 10 ms
    CHECK(pacer.budget(Instant()) == 2500);
    pacer.on_sent(Instant(), 2500);
    const auto next = pacer.next_departure(Instant());
    REQUIRE(next);
    CHECK(*next - Instant() >= 10ms);
    CHECK(*next - Instant() < 10001us);
    int wakeups = 0;
    const auto sent = drive(pacer, Instant(), 10s, 1250, wakeups);
    CHECK(static_cast<double>(sent) == Approx(1.25e6).epsilon(0.002));
}

TEST_CASE("pacer: credit survives a change of rate, debt is bounded") {
    Pacer pacer;
    pacer.set_rate(Instant(), Rate::bits_per_second(1e6), 1000);
    pacer.on_sent(Instant(), 2000);
    pacer.set_rate(Instant(8ms), Rate::bits_per_second(1e3), 1000);  // earned 1000 B at the old rate
    CHECK(pacer.budget(Instant(8ms)) == 1000);
    for (int i = 0; i < 1000; ++i) pacer.on_sent(Instant(8ms), 1000);
    pacer.set_rate(Instant(8ms), Rate::bits_per_second(8e6), 1000);
    const auto next = pacer.next_departure(Instant(8ms));
    REQUIRE(next);
    CHECK(*next - Instant(8ms) < 5ms);
}

TEST_CASE("pacer: a zero rate still lets a datagram out each second, an old `now` asks for no time in the past") {
    Pacer pacer;
    pacer.set_rate(Instant(5s), Rate(), 1000);
    pacer.on_sent(Instant(5s), 2000);
    const auto next = pacer.next_departure(Instant(1s));
    REQUIRE(next);
    CHECK(*next >= Instant(6s));
    CHECK(pacer.budget(*next) >= 1000);
}
