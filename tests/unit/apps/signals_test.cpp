#include "common/signals.hpp"

#include <csignal>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using Wish = Interruption::Wish;

TEST_CASE("a signal that comes twice within a second is one, a later one is another") {
    using namespace std::chrono_literals;
    const Instant start = Instant{} + 100s;
    Interruption interruption;
    CHECK(interruption.signal() == 0);
    CHECK(interruption.on_signal(SIGTERM, start) == Wish::wind_up);
    CHECK(interruption.on_signal(SIGTERM, start) == Wish::nothing);
    CHECK(interruption.on_signal(SIGINT, start + 999ms) == Wish::nothing);
    CHECK(interruption.on_signal(SIGINT, start + 1s) == Wish::leave);
    CHECK(interruption.signal() == SIGTERM);
}
