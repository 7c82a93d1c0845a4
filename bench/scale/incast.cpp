// udtx-scale-incast: COUNT connections share one link in virtual time. The link has 1 Mbit/s per connection. Each
// connection sends BYTES bytes, by default 300 kB, and all start at once.
//
// `udtx-scale-incast COUNT [CC [BYTES]]` prints "finished N of COUNT in S s, Jain J; ...". It exits with 1 if a
// connection did not deliver all its bytes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "sim/incast.hpp"

int main(int argc, char** argv) {
    using namespace udtx;
    using namespace std::chrono_literals;
    constexpr std::size_t kEach = 50;
    constexpr std::size_t kMost = kEach * sim::Incast::kMostHosts;
    const auto count = static_cast<std::size_t>(argc > 1 && argc < 5 ? std::strtoull(argv[1], nullptr, 10) : 0);
    const std::size_t each = std::min(kEach, count);
    if (count == 0 || count > kMost || count % each != 0) {
        std::fprintf(stderr, "udtx-scale-incast COUNT [CC [BYTES]]: up to %zu, a multiple of %zu above that\n", kMost,
                     kEach);
        return 2;
    }
    const auto rate = static_cast<std::uint64_t>(count) * 1'000'000;
    const sim::LinkParams line{.bits_per_second = rate, .delay = 25ms, .queue_bytes = rate / 8 / 20};
    sim::IncastSetup setup{.hosts = count / each, .each = each, .line = line};
    if (argc > 2) setup.congestion = argv[2];
    if (argc > 3) setup.bytes = std::strtoull(argv[3], nullptr, 10);
    sim::Incast incast(setup);
    incast.run(600s);
    std::printf("finished %zu of %zu in %.2f s, Jain %.3f; the first after %.2f s, half after %.2f s\n",
                incast.intact(), count, to_seconds(incast.elapsed()), incast.fairness(),
                to_seconds(incast.finished_at(0.0)), to_seconds(incast.finished_at(0.5)));
    return incast.intact() == count ? 0 : 1;
}
