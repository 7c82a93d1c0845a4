// Clean lines: both kinds of stream, both directions, determinism, orderly close.
#include "sim/check.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

TEST_CASE("a clean line: placed stream arrives intact and both sides close in order") {
    Scenario s(symmetric("clean, placed", {}));
    const Bulk bulk = start_bulk(s, {.bytes = 5'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done() && s.server().session().closed; }, 30s));
    SIM_CHECK(s, s.client().session().closed->orderly());
    SIM_CHECK(s, s.server().session().closed->orderly());
    SIM_CHECK(s, s.server().session().closed->by_peer);
}
