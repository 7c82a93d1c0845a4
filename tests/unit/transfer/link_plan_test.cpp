#include "transfer/run/job_options.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;

TEST_CASE("paths that are away are left out where that is asked for, and one of those left is no standby") {
    DialOptions dial;
    dial.addresses = *resolve("127.0.0.9", 7000);
    dial.paths = {
        {.local = "nosuch0"}, {.local = "127.0.0.1", .standby = true}, {.local = "127.0.0.2", .standby = true}};
    const auto all = plan_ways("", 0, dial);
    REQUIRE_FALSE(all.ok());
    CHECK(all.error().code == ErrorCode::invalid_argument);
    dial.skip_absent_paths = true;
    const auto left = plan_ways("", 0, dial);
    REQUIRE(left);
    REQUIRE(left->size() == 2);
    CHECK(to_string(left->front().local) == "127.0.0.1:0");
    CHECK_FALSE(left->front().options.standby);
    CHECK(left->back().options.standby);
    dial.paths.resize(1);
    const auto none = plan_ways("", 0, dial);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().code == ErrorCode::network);
    CHECK(none.error().message.find("nosuch0: ") == 0);
}

TEST_CASE("port 0 leads nowhere, whether it is given with a name or in an address") {
    DialOptions dial;
    for (int i = 0; i < 2; ++i) {
        const auto ways = plan_ways("127.0.0.1", 0, dial);
        REQUIRE_FALSE(ways.ok());
        CHECK(ways.error().code == ErrorCode::invalid_argument);
        CHECK(ways.error().message.find("port 0") == 0);
        dial.addresses = *resolve("127.0.0.9", 0);
    }
}
