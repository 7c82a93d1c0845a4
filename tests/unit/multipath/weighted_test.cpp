#include "multipath/schedulers.hpp"

#include <array>
#include <cstdlib>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathView;
using udtx::StreamKind;
using udtx::multipath::Weighted;
using udtx::multipath::test::demand;
using udtx::multipath::test::view;

namespace {

std::array<int, 3> serve(Weighted& scheduler, std::span<const PathView> paths, int datagrams) {
    std::array<int, 3> counts{};
    for (int i = 0; i < datagrams; ++i) {
        const auto pick = scheduler.pick(Instant{}, demand(StreamKind::unordered), paths);
        REQUIRE(pick);
        scheduler.on_sent(Instant{}, *pick, udtx::multipath::test::kDatagram);
        ++counts.at(pick->path.value);
    }
    return counts;
}

}  // namespace

TEST_CASE("weighted shares bytes by weight") {
    Weighted scheduler;
    std::array paths{view(0, 100, 10ms), view(1, 100, 10ms), view(2, 100, 10ms)};
    paths[0].weight = 5;
    paths[1].weight = 3;
    paths[2].weight = 2;
    const auto counts = serve(scheduler, paths, 1000);
    CHECK(std::abs(counts[0] - 500) <= 2);
    CHECK(std::abs(counts[1] - 300) <= 2);
}

TEST_CASE("a path that could not send makes up for little of it") {
    Weighted scheduler;
    std::array paths{view(0, 100, 10ms), view(1, 100, 10ms)};
    paths[1].may_send = false;
    CHECK(serve(scheduler, paths, 1000)[0] == 1000);
    paths[1].may_send = true;
    // The path may catch up 64 KiB, which are 46 datagrams; after that the shares are equal.
    const auto counts = serve(scheduler, paths, 146);
    CHECK(std::abs(counts[1] - 97) <= 3);
}

TEST_CASE("weight 0 is for when no other path may send") {
    Weighted scheduler;
    std::array paths{view(0, 100, 10ms), view(1, 100, 10ms)};
    paths[0].weight = 0;
    CHECK(serve(scheduler, paths, 10)[1] == 10);
    paths[1].may_send = false;
    CHECK(serve(scheduler, paths, 10)[0] == 10);
}
