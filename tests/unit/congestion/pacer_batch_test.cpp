// How much the pacer sends in one system call, and when, on links that are fast enough to fill a GSO call per burst.
#include <algorithm>
#include <optional>

#include "congestion/pacer.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::congestion::Pacer;

namespace {

constexpr std::uint32_t kDatagram = 1472;
constexpr std::uint64_t kCall = 44ULL * kDatagram;  // bytes of one GSO call of the driver

/// Sends like transmit_data: full datagrams, at most one call of them. Returns their number.
int send_call(Pacer& pacer, Instant now, std::uint64_t most = kCall, std::uint32_t bytes = kDatagram) {
    const std::uint64_t budget = std::min(pacer.budget(now), most);
    int sent = 0;
    for (std::uint64_t used = 0; used + bytes <= budget; used += bytes, ++sent) pacer.on_sent(now, bytes);
    return sent;
}

/// A pacer that has sent its first burst and has no credit.
Pacer paced(double bits_per_second, std::uint32_t datagram = kDatagram) {
    Pacer pacer;
    const Rate rate = Rate::bits_per_second(bits_per_second);
    pacer.set_rate(Instant(), rate, datagram);
    const auto burst = static_cast<std::uint64_t>(rate.bytes_in(Pacer::kBurst));
    pacer.on_sent(Instant(), std::max<std::uint64_t>(burst, 2ULL * datagram));
    return pacer;
}

}  // namespace

TEST_CASE("pacer: whoever asks often on a fast line still sends whole batches, and the whole rate") {
    const double gbps = GENERATE(2.1, 5.0, 10.0, 40.0);
    Pacer pacer = paced(gbps * 1e9);
    std::uint64_t calls = 0;
    std::uint64_t packets = 0;
    for (Instant now; now < Instant(100ms); now += 7us) {  // an ACK arrives each 7 us
        while (const int sent = send_call(pacer, now)) {
            ++calls;
            packets += static_cast<std::uint64_t>(sent);
            CHECK(sent >= 42);
        }
    }
    CHECK(static_cast<double>(packets) / static_cast<double>(calls) > 42.5);
    CHECK(static_cast<double>(packets * kDatagram) == Approx(gbps * 1e9 / 8.0 * 0.1).epsilon(0.01));
}

TEST_CASE("pacer: below 2 Gbit/s bytes leave as they are earned") {
    const double gbps = GENERATE(0.5, 1.0, 2.0);
    Pacer pacer = paced(gbps * 1e9);
    const Rate rate = Rate::bits_per_second(gbps * 1e9);
    CHECK(pacer.budget(Instant(100us)) >= static_cast<std::uint64_t>(rate.bytes_in(95us)));
}

TEST_CASE("pacer: the time that a batch is waited for is when one is there") {
    const std::uint32_t datagram = GENERATE(1200U, 1472U, 8972U, 16'000U, 31'000U, 33'000U, 65'000U);
    const double gbps = GENERATE(1.9, 2.05, 2.3, 4.0, 4.2, 10.0, 100.0);
    Pacer pacer = paced(gbps * 1e9, datagram);
    int wakeups = 0;
    std::uint64_t sent = 0;
    Instant now;
    for (; now < Instant(100ms); ++wakeups) {
        const auto next = pacer.next_departure(now);
        if (next) {
            REQUIRE(*next > now);
            now = *next;
        }
        const int packets = send_call(pacer, now, 65'000, datagram);
        REQUIRE(packets > 0);  // otherwise the driver would spin
        sent += static_cast<std::uint64_t>(packets) * datagram;
    }
    INFO(datagram << " bytes, " << gbps << " Gbit/s, " << wakeups << " wake-ups");
    CHECK(static_cast<double>(sent) == Approx(gbps * 1e9 / 8.0 * to_seconds(now - Instant())).epsilon(0.02));
}

TEST_CASE("pacer: a batch that the window or the data broke off goes on as soon as there is more") {
    Pacer pacer = paced(4e9);
    const auto next = pacer.next_departure(Instant());
    REQUIRE(next);
    CHECK(send_call(pacer, *next, 10ULL * kDatagram) == 10);
    CHECK(send_call(pacer, *next + 1us, 10ULL * kDatagram) == 10);  // an ACK opened the window, or data arrived
    CHECK(send_call(pacer, *next + 2us) == 44);
    CHECK(send_call(pacer, *next + 3us) == 0);  // only 31,000 bytes are left of the burst
    CHECK(send_call(pacer, *next + 60us) == 0);
    CHECK(send_call(pacer, *next + 80us) == 44);
}

TEST_CASE("pacer: with a window below a batch, a paced flow has its whole rate") {
    Pacer pacer = paced(4e9);
    constexpr std::uint64_t kWindow = 20ULL * kDatagram;
    constexpr Duration kRtt = 30us;  // the window alone allows 7.9 Gbit/s
    std::uint64_t sent = 0;
    Instant now;
    while (now < Instant(100ms)) {
        sent += static_cast<std::uint64_t>(send_call(pacer, now, kWindow)) * kDatagram;
        now += kRtt;
    }
    CHECK(static_cast<double>(sent) == Approx(4e9 / 8.0 * 0.1).epsilon(0.01));
}

TEST_CASE("pacer: what leaves regardless begins no batch") {
    Pacer pacer = paced(4e9);
    const Instant early(50us);
    pacer.on_sent(early, kDatagram);  // the second packet of a pair, or a probe
    CHECK(pacer.budget(early + 1us) == 0);
    const auto next = pacer.next_departure(early);
    REQUIRE(next);
    CHECK(send_call(pacer, *next) >= 43);
}

TEST_CASE("pacer: nothing waits for a batch once the rate has fallen") {
    Pacer pacer = paced(4e9);
    const Instant later(100us);
    CHECK(pacer.budget(later) == 0);
    pacer.set_rate(later, Rate::bits_per_second(1e8), kDatagram);
    CHECK(pacer.budget(later) >= kDatagram);
}
