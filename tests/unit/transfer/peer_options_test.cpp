#include "transfer/run/setup.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;

TEST_CASE("paths that are away are left out where that is asked for, and one of those left is no standby") {
    PeerOptions peer;
    peer.addresses = *resolve("127.0.0.9", 7000);
    peer.paths = {
        {.local = "nosuch0"}, {.local = "127.0.0.1", .standby = true}, {.local = "127.0.0.2", .standby = true}};
    const auto all = plan_paths("", 0, peer);
    REQUIRE_FALSE(all.ok());
    CHECK(all.error().code == ErrorCode::invalid_argument);
    peer.skip_absent_paths = true;
    const auto left = plan_paths("", 0, peer);
    REQUIRE(left);
    REQUIRE(left->size() == 2);
    CHECK(to_string(left->front().local) == "127.0.0.1:0");
    CHECK_FALSE(left->front().options.standby);
    CHECK(left->back().options.standby);
    peer.paths.resize(1);
    const auto none = plan_paths("", 0, peer);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().code == ErrorCode::network);
    CHECK(none.error().message.find("nosuch0: ") == 0);
}

TEST_CASE("port 0 leads nowhere, whether it is given with a name or in an address") {
    PeerOptions peer;
    for (int i = 0; i < 2; ++i) {
        const auto candidates = plan_paths("127.0.0.1", 0, peer);
        REQUIRE_FALSE(candidates.ok());
        CHECK(candidates.error().code == ErrorCode::invalid_argument);
        CHECK(candidates.error().message.find("port 0") == 0);
        peer.addresses = *resolve("127.0.0.9", 0);
    }
}
