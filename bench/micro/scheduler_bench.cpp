// Cost of one decision of the default scheduler over several paths, of which only the last one may send.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "multipath/schedulers.hpp"
#include "unit/multipath/views.hpp"

namespace udtx::bench {
namespace {

using namespace std::chrono_literals;

void pick_eds(benchmark::State& state) {
    multipath::Eds scheduler;
    std::vector<PathView> paths;
    for (int i = 0; i < state.range(0); ++i) {
        paths.push_back(multipath::test::view(static_cast<std::uint8_t>(i), 100.0, (10 + 10 * i) * 1ms));
        paths.back().may_send = i + 1 == state.range(0);
    }
    const auto demand = multipath::test::demand(static_cast<StreamKind>(state.range(1)));
    const Instant now{1h};
    for ([[maybe_unused]] auto _ : state) {
        const auto pick = scheduler.pick(now, demand, paths);
        if (!pick) std::abort();
        benchmark::DoNotOptimize(pick->from);
    }
    state.SetLabel(static_cast<StreamKind>(state.range(1)) == StreamKind::unordered ? "unordered" : "ordered");
}
BENCHMARK(pick_eds)->ArgsProduct({{2, 8}, {0, 1}});

}  // namespace
}  // namespace udtx::bench
