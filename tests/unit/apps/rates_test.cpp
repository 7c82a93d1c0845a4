// Schedules, shares of the host's rate, and the bound of a transfer that results from them.
#include <sys/file.h>
#include <unistd.h>

#include "common/units.hpp"
#include "control/rate_governor.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace udtx::test;

TEST_CASE("a schedule holds from each time to the next, through midnight") {
    const auto parsed = Schedule::parse("18:00,off 08:00,512M;12:30,1.5G");
    REQUIRE(parsed);
    const auto at = [&](int hour, int minute) { return parsed->at(hour * 60 + minute); };
    CHECK(at(8, 0).bps() == 512e6);
    CHECK(at(12, 29).bps() == 512e6);
    CHECK(at(12, 30).bps() == 1.5e9);
    CHECK(at(17, 59).bps() == 1.5e9);
    CHECK(at(18, 0).is_infinite());
    CHECK(at(0, 0).is_infinite());
    CHECK(at(7, 59).is_infinite());
    CHECK((*Schedule::parse("00:00,1M")).at(1439).bps() == 1e6);
}

TEST_CASE("a schedule that is not one is refused, and the line names the entry") {
    for (const char* text :
         {"", " ; ", "08:00", "8:00,5M", "24:00,5M", "08:60,5M", "08:00,", "08:00,fast", "08:00,5M 08:00,6M"}) {
        const auto parsed = Schedule::parse(text);
        INFO(text);
        REQUIRE_FALSE(parsed);
        CHECK(parsed.error().code == ErrorCode::invalid_argument);
    }
    CHECK(Schedule::parse("08:00,5M 25:00,1M").error().message.find("25:00,1M") != std::string::npos);
}

TEST_CASE("transfers count each other, and forget those that have ended") {
    const TemporaryDirectory temp;
    const std::string directory = temp.path().string();
    const auto first = HostShare::join(directory);
    REQUIRE(first);
    CHECK((*first)->count() == 1);
    {
        const auto second = HostShare::join(directory);
        REQUIRE(second);
        CHECK((*first)->count() == 2);
        CHECK((*second)->count() == 2);
    }
    CHECK((*first)->count() == 1);
    write_file(temp / "share-1-0", "");  // left by a process that was killed
    CHECK((*first)->count() == 1);
    CHECK_FALSE(fs::exists(temp / "share-1-0"));
}

TEST_CASE("a share that cannot be had is an error, not a wait") {
    const auto none = HostShare::join("/nonexistent/udtx");
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::file_io);
}

TEST_CASE("a wish takes the place of rate and schedule until it is taken back") {
    const auto schedule = Schedule::parse("00:00,30M");
    REQUIRE(schedule);
    Terminal terminal(STDERR_FILENO);
    Log log("udtx-send", terminal, Log::Verbosity::quiet);
    RateGovernor rates({.base = Rate::bits_per_second(50e6), .schedule = *schedule}, log);
    CHECK(rates.update({}, true).bps() == 30e6);
    REQUIRE(rates.set(Rate::bits_per_second(80e6)));
    CHECK(rates.update({}, true).bps() == 80e6);
    REQUIRE(rates.set(Rate::infinite()));
    CHECK(rates.update({}, true).is_infinite());
    REQUIRE(rates.set(std::nullopt));
    CHECK(rates.update({}, true).bps() == 30e6);
    RateGovernor fixed({.base = Rate::bits_per_second(50e6), .fixed = true}, log);
    CHECK_FALSE(fixed.set(Rate::infinite()));
    CHECK(fixed.update({}, true).bps() == 50e6);
}
