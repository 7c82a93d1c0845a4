// A machine sleeps for an hour during a transfer. Its clock has counted that hour when it wakes.
#include <array>
#include <string>

#include "sim/check.hpp"
#include "test/fault_case.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr Duration kHour = 1h;
constexpr Duration kAsleepAt = 2s;
constexpr std::uint64_t kBytes = 20'000'000;  // takes 8 s

struct Sleepers {
    const char* name;
    bool client;
    bool server;
};
constexpr std::array kSleepers{Sleepers{"the sender", true, false}, Sleepers{"the receiver", false, true},
                               Sleepers{"both ends", true, true}};

ScenarioSetup with_patience(const std::string& name, Duration idle, std::uint64_t seed) {
    auto setup = symmetric(name, {.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 100'000}, seed);
    for (TransportConfig* config : {&setup.client, &setup.server}) {
        config->idle_timeout = idle;
        config->keep_alive = 1s;  // as in the tools
    }
    return setup;
}

void fall_asleep(Scenario& s, const Sleepers& who) {
    s.at(kAsleepAt, std::string(who.name) + " sleeps for an hour", [&s, who] {
        if (who.client) s.client().sleep_for(kHour);
        if (who.server) s.server().sleep_for(kHour);
    });
}

}  // namespace

TEST_CASE(
    "F76 an hour of sleep is longer than the time-out: both ends say so, soon after they can, and none says done") {
    constexpr Duration kIdle = 60s;
    Duration latest{};
    unsigned ended = 0;
    for (const Sleepers& who : kSleepers) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            Scenario s(with_patience("sleep", kIdle, seed));
            const Bulk bulk = start_bulk(s, {.bytes = kBytes});
            fall_asleep(s, who);
            const auto closed = [&] { return s.client().session().closed && s.server().session().closed; };
            SIM_REQUIRE(s, s.run_until(closed, kAsleepAt + kHour + kIdle + 10s));
            SIM_CHECK(s, !bulk.sender->delivered_at());
            SIM_CHECK(s, !bulk.receiver->complete_at());
            SIM_CHECK(s, bulk.receiver->intact());
            const auto check = [&](const Session& session, bool slept) {
                SIM_CHECK(s, session.closed->code == ErrorCode::timeout);
                const Duration after = *session.closed_at - kStart - kAsleepAt - (slept ? kHour : kIdle);
                SIM_CHECK(s, after <= 2s);
                latest = std::max(latest, after);
                ++ended;
            };
            check(s.client().session(), who.client);
            check(s.server().session(), who.server);
        }
    }
    test::fault_case(76, "one end or both suspended for an hour, --timeout of 60 s: both ends time out, no success",
                     ended, " of 18 ends, ", to_seconds(latest), " s after the earliest time at most");
}

TEST_CASE("F76 an hour of sleep is shorter than the time-out: the same connection goes on, and all arrives once") {
    unsigned whole = 0;
    Duration longest{};
    for (const Sleepers& who : kSleepers) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            Scenario s(with_patience("sleep, patient", 2h, seed));
            const Bulk bulk = start_bulk(s, {.bytes = kBytes});
            fall_asleep(s, who);
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, kAsleepAt + kHour + 30s));
            SIM_CHECK(s, s.elapsed() > kAsleepAt + kHour);
            SIM_CHECK(s, s.server().sessions().size() == 1);
            longest = std::max(longest, s.elapsed() - kAsleepAt - kHour);
            ++whole;
        }
    }
    test::fault_case(76, "the same with a timeout of 2 h: the rest arrives within 30 s of waking", whole,
                     " of 9 complete, after ", to_seconds(longest), " s at the latest");
}
