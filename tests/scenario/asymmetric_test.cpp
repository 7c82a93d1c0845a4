// Ways back 100 to 12,500 times narrower than the way out (docs/acknowledgements.md).
#include "sim/flows.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

struct Figures {
    double used = 0.0;      ///< part of the line
    double back_bps = 0.0;  ///< of acknowledgements, headers included
    Duration queue_back{};  ///< mean
};

Figures over(ReturnLine back, const char* cc = "udtx", Duration from = 12s, Duration to = 30s) {
    FlowRig rig({.name = "asymmetric", .rtt = 100ms, .flows = {{.cc = cc}}, .back = back});
    rig.run_for(from);
    const LinkCounters before = rig.return_line().counters();
    rig.run_for(to - from);
    const LinkCounters& after = rig.return_line().counters();
    const double seconds = to_seconds(to - from);
    UNSCOPED_INFO(rig.table(from, to));
    const auto bytes = static_cast<double>(after.sent_bytes - before.sent_bytes + 28 * (after.sent - before.sent));
    const double queue = (after.queue_byte_seconds - before.queue_byte_seconds) / seconds;
    return {.used = rig.utilisation(from, to),
            .back_bps = bytes * 8.0 / seconds,
            .queue_back = from_seconds(queue * 8.0 / static_cast<double>(back.bits_per_second))};
}

}  // namespace

TEST_CASE("asymmetric: 64 kbit/s back for 100 Mbit/s") {
    const Figures f = over({.bits_per_second = 64'000});
    CHECK(f.used > 0.95);
    CHECK(f.back_bps < 0.85 * 64'000);
    CHECK(f.queue_back < 50ms);
}

TEST_CASE("asymmetric: 16 kbit/s back for 100 Mbit/s") {
    const Figures f = over({.bits_per_second = 16'000});
    CHECK(f.used > 0.90);
    CHECK(f.back_bps < 0.85 * 16'000);
    CHECK(f.queue_back < 200ms);
}

TEST_CASE("asymmetric: 8 kbit/s back for 100 Mbit/s") {
    const Figures f = over({.bits_per_second = 8'000});
    CHECK(f.used > 0.80);
    CHECK(f.back_bps < 0.90 * 8'000);
}

TEST_CASE("asymmetric: 64 kbit/s back with every fifth acknowledgement lost") {
    CHECK(over({.bits_per_second = 64'000, .loss = 0.2}).used > 0.80);
}

TEST_CASE("asymmetric: a way back as wide as the way out changes nothing") {
    const Figures f = over({.bits_per_second = 100'000'000}, "udtx", 5s, 10s);
    CHECK(f.used > 0.99);
    CHECK(f.back_bps > 100'000);  // an acknowledgement each 64 packets
}
