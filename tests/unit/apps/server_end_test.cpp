// The reaction to signals of a server, and of a receiver of one transfer.
#include "serve/server_end.hpp"

#include <csignal>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;
using Wish = ServerEnd::Wish;

namespace {

const Instant kStart = Instant{} + 100s;

}  // namespace

TEST_CASE("the first TERM lets a server's transfers go on to their end") {
    ServerEnd end(false);
    CHECK_FALSE(end.ending());
    CHECK(end.on_signal(SIGTERM, kStart) == Wish::drain);
    CHECK(end.ending());
    CHECK(end.draining());
    CHECK_FALSE(end.interrupted());
    CHECK_FALSE(end.overdue(kStart + 24h));
    SECTION("the same gesture once more changes nothing") {
        CHECK(end.on_signal(SIGTERM, kStart + 999ms) == Wish::nothing);
        CHECK_FALSE(end.interrupted());
    }
    SECTION("a second TERM ends them, and a third leaves") {
        CHECK(end.on_signal(SIGTERM, kStart + 1s) == Wish::wind_up);
        CHECK(end.interrupted());
        CHECK(end.signal() == SIGTERM);
        CHECK(end.on_signal(SIGTERM, kStart + 1500ms) == Wish::nothing);
        CHECK(end.on_signal(SIGTERM, kStart + 3s) == Wish::leave);
    }
    SECTION("INT ends them at once") {
        CHECK(end.on_signal(SIGINT, kStart + 1ms) == Wish::wind_up);
        CHECK(end.signal() == SIGINT);
    }
}

TEST_CASE("INT ends a server's transfers, which then have a grace") {
    ServerEnd end(false);
    CHECK(end.on_signal(SIGINT, kStart) == Wish::wind_up);
    CHECK(end.ending());
    CHECK_FALSE(end.draining());
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
