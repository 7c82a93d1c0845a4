#include "common/process.hpp"

#include <csignal>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using Wish = Interruption::Wish;

TEST_CASE("a signal that is forwarded at once is one, a later one is another") {
    using namespace std::chrono_literals;
    const Instant start = Instant{} + 100s;
    Interruption interruption;
    CHECK(interruption.signal() == 0);
    CHECK(interruption.on_signal(SIGTERM, start) == Wish::wind_up);
    CHECK(interruption.on_signal(SIGTERM, start) == Wish::repeated);
    CHECK(interruption.on_signal(SIGINT, start + 199ms) == Wish::repeated);
    CHECK(interruption.on_signal(SIGINT, start + 500ms) == Wish::leave);
    CHECK(interruption.signal() == SIGTERM);
}

TEST_CASE("what the caller of the program ignores stays ignored, during and after") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGXCPU);
    struct sigaction before {};
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    REQUIRE(::sigaction(signal, &action, &before) == 0);
    const auto ignored = [&] {
        struct sigaction now {};
        return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    };
    {
        SignalWaiter waiter;
        CHECK(ignored());
        for (const int other : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
            if (other == signal) continue;
            REQUIRE(::raise(other) == 0);
            CHECK(waiter.wait(SignalWaiter::kTurn) == other);
        }
    }
    CHECK(ignored());
    ::sigaction(signal, &before, nullptr);
}
