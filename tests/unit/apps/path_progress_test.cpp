#include "observe/progress.hpp"

#include "common/text.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::apps;

namespace {

Address v4(std::uint8_t last, std::uint16_t port) {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {10, 0, 0, last};
    address.port = port;
    return address;
}

/// The statistics after so many seconds at 1 MB/s on two paths. The second path loses every tenth packet.
ConnectionStats stats_after(std::uint64_t seconds) {
    ConnectionStats stats;
    for (std::uint8_t i = 0; i < 2; ++i) {
        PathStats path;
        path.id = PathId{i};
        path.local = v4(static_cast<std::uint8_t>(1 + i), 40000);
        path.remote = v4(9, 7011);
        path.smoothed_rtt = 12ms;
        path.sent_packets = 1000 * seconds;
        path.lost_packets = i * 100 * seconds;
        path.received_packets = 500 * seconds;
        path.delivered_bytes = 1'000'000 * seconds;
        path.received_bytes = 2'000'000 * seconds;
        stats.paths.push_back(path);
    }
    return stats;
}

std::vector<std::string> lines_after(DataEnd end, std::size_t columns) {
    PathMeters meters(end);
    for (std::uint64_t s = 1; s < 5; ++s) meters.sample(std::chrono::seconds(s), stats_after(s));
    return meters.lines(columns);
}

}  // namespace

TEST_CASE("each path has a line: where, in which state, how fast, how far, what is lost and sent again") {
    PathMeters meters(DataEnd::sender);
    for (std::uint64_t s = 1; s < 5; ++s) {
        ConnectionStats stats = stats_after(s);
        stats.paths[1].state = PathState::suspended;
        stats.paths[1].reinjected_bytes = 1'200'000;
        stats.paths[0].standby = true;
        meters.sample(std::chrono::seconds(s), stats);
    }
    const auto lines = meters.lines(200);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "path 0  10.0.0.1 -> 10.0.0.9:7011  active, standby  8.00 Mbit/s  RTT 12.0 ms  loss 0.0%");
    CHECK(lines[1] ==
          "path 1  10.0.0.2 -> 10.0.0.9:7011  suspended  8.00 Mbit/s  RTT 12.0 ms  loss 10.0%  reinjected 1.20 MB");
}

TEST_CASE("the receiver tells of what comes, and of no losses, which it cannot know") {
    const auto lines = lines_after(DataEnd::receiver, 200);
    REQUIRE(lines.size() == 2);
    CHECK(lines[1] == "path 1  10.0.0.2 -> 10.0.0.9:7011  active  16.0 Mbit/s  RTT 12.0 ms");
}

TEST_CASE("a path's line never exceeds the terminal") {
    for (std::size_t columns = 1; columns < 120; ++columns) {
        for (const std::string& line : lines_after(DataEnd::sender, columns)) CHECK(count_columns(line) <= columns);
    }
    CHECK(lines_after(DataEnd::sender, 40).at(1) == "path 1  active  8.00 Mbit/s  RTT 12.0 ms");
}

TEST_CASE("one path alone has no line, nor has one that is closed or of an earlier connection") {
    PathMeters meters(DataEnd::sender);
    ConnectionStats stats = stats_after(1);
    stats.paths.pop_back();
    meters.sample(1s, stats);
    CHECK(meters.lines(200).empty());
    stats = stats_after(2);
    stats.paths[1].state = PathState::closed;
    meters.sample(2s, stats);
    CHECK(meters.lines(200).size() == 1);
    stats = stats_after(1);
    stats.paths.pop_back();
    meters.sample(3s, stats);
    CHECK(meters.lines(200).empty());
}
