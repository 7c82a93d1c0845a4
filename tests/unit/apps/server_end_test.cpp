// The reaction to signals of a server, and of a receiver of one transfer.
#include "serve/server_run.hpp"

#include <csignal>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;
using Stage = ServerEnd::Stage;
using Wish = ServerEnd::Wish;

namespace {

const Instant kStart = Instant{} + 100s;

}  // namespace

TEST_CASE("the first TERM lets a server's transfers go on to their end") {
    ServerEnd end(false);
    CHECK(end.stage() == Stage::serving);
    CHECK(end.on_signal(SIGTERM, kStart) == Wish::drain);
    CHECK(end.stage() != Stage::serving);
    CHECK(end.stage() == Stage::draining);
    CHECK(end.stage() != Stage::interrupted);
    CHECK_FALSE(end.overdue(kStart + 24h));
    SECTION("the same gesture once more changes nothing") {
        CHECK(end.on_signal(SIGTERM, kStart + 199ms) == Wish::repeated);
        CHECK(end.stage() != Stage::interrupted);
    }
    SECTION("a second TERM ends them, and a third leaves") {
        CHECK(end.on_signal(SIGTERM, kStart + 300ms) == Wish::wind_up);
        CHECK(end.stage() == Stage::interrupted);
        CHECK(end.signal() == SIGTERM);
        CHECK(end.on_signal(SIGTERM, kStart + 400ms) == Wish::repeated);
        CHECK(end.on_signal(SIGTERM, kStart + 800ms) == Wish::leave);
    }
    SECTION("INT ends them at once") {
        CHECK(end.on_signal(SIGINT, kStart + 1ms) == Wish::wind_up);
        CHECK(end.signal() == SIGINT);
    }
}

TEST_CASE("INT ends a server's transfers, which then have a grace") {
    ServerEnd end(false);
    CHECK(end.on_signal(SIGINT, kStart) == Wish::wind_up);
    CHECK(end.stage() != Stage::serving);
    CHECK(end.stage() != Stage::draining);
    CHECK_FALSE(end.overdue(kStart + ServerEnd::kInterruptGrace - 1ms));
    CHECK(end.overdue(kStart + ServerEnd::kInterruptGrace));
    // Once the server is ending its transfers, it waits for nobody.
    CHECK(end.on_signal(SIGTERM, kStart + 2s) == Wish::leave);
}

TEST_CASE("TERM ends the one transfer of a receiver of one") {
    ServerEnd end(true);
    CHECK(end.on_signal(SIGTERM, kStart) == Wish::wind_up);
    CHECK(end.signal() == SIGTERM);
    CHECK(end.on_signal(SIGINT, kStart + 2s) == Wish::leave);
}

TEST_CASE("HUP makes a server read its keys, and ends only a receiver of one transfer") {
    ServerEnd end(false);
    CHECK(end.on_signal(SIGHUP, kStart) == Wish::reload);
    CHECK(end.on_signal(SIGHUP, kStart + 1ms) == Wish::reload);
    CHECK(end.stage() == Stage::serving);
    CHECK(end.on_signal(SIGTERM, kStart + 2ms) == Wish::drain);
    CHECK(end.on_signal(SIGHUP, kStart + 3ms) == Wish::reload);
    CHECK(end.on_signal(SIGINT, kStart + 4ms) == Wish::wind_up);
    CHECK(end.on_signal(SIGHUP, kStart + 1s) == Wish::nothing);
    ServerEnd one(true);
    CHECK(one.on_signal(SIGHUP, kStart) == Wish::wind_up);
    CHECK(one.signal() == SIGHUP);
}

TEST_CASE("a drain with a limit ends the transfers once, without an interruption") {
    ServerEnd end(false, 10s);
    CHECK_FALSE(end.drained_too_long(kStart + 1h));
    CHECK(end.on_signal(SIGTERM, kStart) == Wish::drain);
    CHECK_FALSE(end.drained_too_long(kStart + 9999ms));
    CHECK_FALSE(end.winding_up());
    CHECK(end.drained_too_long(kStart + 10s));
    CHECK_FALSE(end.drained_too_long(kStart + 11s));
    CHECK(end.winding_up());
    CHECK(end.stage() != Stage::interrupted);
    CHECK(end.overdue(kStart + 10s + ServerEnd::kInterruptGrace));
    SECTION("transfers that end already do so no sooner at a second TERM") {
        CHECK(end.on_signal(SIGTERM, kStart + 11s) == Wish::wind_up);
        CHECK(end.overdue(kStart + 10s + ServerEnd::kInterruptGrace));
    }
}
