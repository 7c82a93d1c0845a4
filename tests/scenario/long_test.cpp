// Ten gigabytes and key updates in virtual time.
#include "sim/check.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

TEST_CASE("10 GB over 1 Gbit/s and 20 ms") {
    const auto bytes = static_cast<std::uint64_t>(10e9 * size_scale());
    auto setup = symmetric("10 GB", {.bits_per_second = 1'000'000'000, .queue_bytes = 2'500'000, .mtu = 8972});
    setup.client.rekey_after_packets = 1U << 18U;
    setup.server.rekey_after_packets = 1U << 18U;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = bytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 200s));
    if (bytes >= 10'000'000'000ULL) {
        SIM_CHECK(s, s.client().session().stats().key_updates >= 3);
        SIM_CHECK(s, s.elapsed() < 160s);  // half the link's rate
    }
}
