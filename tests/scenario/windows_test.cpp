// Windows and send buffers that grow with the link's bandwidth-delay product, and shrink again.
#include <algorithm>

#include "sim/check.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr double kBitsPerSecond = 2e9;
constexpr Duration kRtt = 500ms;
const double kBdp = kBitsPerSecond / 8 * to_seconds(kRtt);

LinkParams fat_line() {
    LinkParams line;
    line.bits_per_second = static_cast<std::uint64_t>(kBitsPerSecond);
    line.delay = kRtt / 2;
    line.queue_bytes = static_cast<std::uint64_t>(kBdp / 2);
    line.mtu = 65'000;
    return line;
}

std::uint64_t held_by_client(Scenario& s) { return s.client().session().connection->held_bytes(); }

/// Part of the link's rate that is used over the next seconds.
double use(Scenario& s, const Bulk& bulk, Duration time) {
    const std::uint64_t before = bulk.receiver->received();
    s.run_for(time);
    return static_cast<double>(bulk.receiver->received() - before) * 8 / to_seconds(time) / kBitsPerSecond;
}

}  // namespace

TEST_CASE("the default windows fill 2 Gbit/s at half a second, within two bandwidth-delay products of memory") {
    for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
        Scenario s(symmetric("long and fat", fat_line()));
        const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000'000ULL, .kind = kind});
        s.run_for(10s);
        const double part = use(s, bulk, 5s);
        INFO("use " << part << ", held " << static_cast<double>(held_by_client(s)) / kBdp << " BDP");
        SIM_CHECK(s, part >= 0.9);
        SIM_CHECK(s, static_cast<double>(held_by_client(s)) <= 2.2 * kBdp);
    }
}

TEST_CASE("windows that may not grow hold the same line up, and those of all connections share what they may grow by") {
    auto setup = symmetric("no memory", fat_line());
    setup.client.max_memory = setup.server.max_memory = 0;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000'000ULL});
    s.run_for(5s);
    const double fixed = use(s, bulk, 3s);
    SIM_CHECK(s, fixed <= 0.6);
    SIM_CHECK(s, held_by_client(s) <= TransportConfig().send_buffer + (1U << 20U));

    auto shared = symmetric("memory for one", fat_line());
    shared.client.max_memory = 96U << 20U;
    Scenario several(std::move(shared));
    several.server().listen(3, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    for (int i = 0; i < 3; ++i) {
        several.client().connect(several.server().address(),
                                 std::make_shared<Sender>(Sender::Options{.bytes = 1'000'000'000'000ULL}));
    }
    std::uint64_t most = 0;
    for (int i = 0; i < 20; ++i) {
        several.run_for(500ms);
        std::uint64_t held = 0;
        for (const auto& session : several.client().sessions()) held += session->connection->held_bytes();
        most = std::max(most, held);
    }
    SIM_CHECK(several, most <= 3 * (TransportConfig().send_buffer + (1U << 20U)) + (96U << 20U));
}

TEST_CASE("windows shrink when the line becomes slower") {
    Scenario s(symmetric("slower", fat_line()));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000'000ULL});
    s.run_for(12s);
    SIM_CHECK(s, held_by_client(s) > TransportConfig().send_buffer);
    s.up().change([](LinkParams& line) { line.bits_per_second = 50'000'000; });
    s.run_for(40s);
    SIM_CHECK(s, held_by_client(s) <= TransportConfig().send_buffer + (1U << 20U));
}
