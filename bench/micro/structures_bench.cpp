// Cost of the range set and the reassembler, with packets in order and with 5 % of the packets late.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/containers.hpp"
#include "sim/prng.hpp"
#include "stream/recv_stream.hpp"

namespace udtx::bench {
namespace {

constexpr std::uint64_t kPiece = 1400;

/// Numbers 0 to `count` - 1 in the order of their arrival. `late` percent of them arrive `distance` numbers late.
std::vector<std::uint64_t> arrivals(std::uint64_t count, double late, std::uint64_t distance) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> turns;
    sim::Prng lots(1);
    for (std::uint64_t i = 0; i < count; ++i) turns.emplace_back(i + (lots.chance(late / 100) ? distance : 0), i);
    std::sort(turns.begin(), turns.end());
    std::vector<std::uint64_t> order;
    for (const auto& turn : turns) order.push_back(turn.second);
    return order;
}

constexpr std::uint64_t kPackets = 100'000;

/// Time per insertion with range(0) % of the numbers late by range(1).
void range_set_insert(benchmark::State& state) {
    const auto order =
        arrivals(kPackets, static_cast<double>(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
    for ([[maybe_unused]] auto _ : state) {
        RangeSet set;
        for (const std::uint64_t number : order) set.insert(number, number + 1);
        if (set.total() != kPackets) std::abort();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPackets));
}
BENCHMARK(range_set_insert)->Args({0, 0})->Args({5, 1000})->Args({5, 50'000})->Unit(benchmark::kMicrosecond);

void range_set_contains(benchmark::State& state) {
    RangeSet set;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(state.range(0)); ++i) set.insert(20 * i, 20 * i + 19);
    sim::Prng lots(1);
    const std::uint64_t bound = static_cast<std::uint64_t>(state.range(0)) * 20;
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(set.contains(lots.below(bound)));
}
BENCHMARK(range_set_contains)->Arg(1)->Arg(64)->Arg(5000);

/// Time to insert and read one packet's bytes with range(0) % of the packets late by range(1).
void reassemble(benchmark::State& state) {
    const auto order =
        arrivals(kPackets, static_cast<double>(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
    const std::array<std::byte, kPiece> piece{};
    std::vector<std::byte> out(64U << 10U);
    for ([[maybe_unused]] auto _ : state) {
        stream::Reassembler reassembler;
        for (const std::uint64_t number : order) {
            reassembler.insert(number * kPiece, piece);
            if (reassembler.readable() >= out.size()) reassembler.read(out);
        }
        while (reassembler.read(out) > 0) {
        }
        if (reassembler.read_offset() != kPackets * kPiece) std::abort();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPackets));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPackets * kPiece));
}
BENCHMARK(reassemble)->Args({0, 0})->Args({5, 1000})->Args({5, 10'000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace udtx::bench
