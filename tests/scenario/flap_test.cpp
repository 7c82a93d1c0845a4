// A path that fails again and again beside one that works. An ordered stream learns to avoid it, and uses it again once
// it is steady.
#include <algorithm>

#include "multipath_rig.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kFast{.bits_per_second = 100'000'000, .delay = 5ms, .queue_bytes = 250'000};
const LinkParams kSlow{.bits_per_second = 10'000'000, .delay = 100ms, .queue_bytes = 250'000};
constexpr Duration kSlice = 250ms;

/// Rate of each slice from now on, Mbit/s.
std::vector<double> slices(Scenario& s, const Bulk& bulk, Duration time) {
    std::vector<double> all;
    for (Duration t{}; t < time; t += kSlice) {
        const std::uint64_t before = bulk.receiver->received();
        s.run_for(kSlice);
        all.push_back(static_cast<double>(bulk.receiver->received() - before) * 8e-6 / to_seconds(kSlice));
    }
    return all;
}

double mean(const std::vector<double>& all) {
    double sum = 0.0;
    for (const double one : all) sum += one / static_cast<double>(all.size());
    return sum;
}

/// Rate of the better link alone, Mbit/s, over whole intervals between drains of its queue (5 s).
double alone() {
    MultipathRig rig({.name = "alone", .lines = {kFast}});
    const Bulk bulk = rig.start({.bytes = 1ULL << 36U, .kind = StreamKind::ordered});
    rig.scenario().run_for(5s);
    return mean(slices(rig.scenario(), bulk, 20s));
}

/// Offset of the first blackout of a link, in tenths of a period.
std::vector<int> phases() {
    if (size_scale() < 1.0) return {5};
    return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
}

struct Flaps {
    Duration delay;
    Duration length;
    Duration period;
};

/// kFast and a link of 10 Mbit/s with blackouts of `length`, the first at `from`.
struct Flapping {
    Flapping(const Flaps& flaps, Duration from) : rig_(setup(flaps, from)), s(rig_.scenario()) {
        bulk = rig_.start({.bytes = 1ULL << 36U, .kind = StreamKind::ordered});
    }
    /// Rate that the flapping link carries, Mbit/s.
    double carried(Duration time) {
        const std::uint64_t before = rig_.path(1).delivered_bytes;
        s.run_for(time);
        return static_cast<double>(rig_.path(1).delivered_bytes - before) * 8e-6 / to_seconds(time);
    }
    void steady(double loss = 0.0) {
        rig_.change(1, [loss](LinkParams& p) {
            p.blackouts.clear();
            p.loss = loss;
        });
    }

  private:
    static RigSetup setup(const Flaps& flaps, Duration from) {
        LinkParams other = kSlow;
        other.delay = flaps.delay;
        other.blackouts = {{.from = from, .length = flaps.length, .period = flaps.period}};
        return {.name = "flaps, from " + std::to_string(from / 1ms) + " ms", .lines = {kFast, other}};
    }
    MultipathRig rig_;

  public:
    Scenario& s;
    Bulk bulk;
};

}  // namespace

TEST_CASE("a path that flaps takes nothing from an ordered stream in any quarter of a second after three times") {
    const double without = alone();
    for (const Flaps& flaps :
         {Flaps{100ms, 500ms, 1s}, Flaps{20ms, 500ms, 1s}, Flaps{100ms, 200ms, 1s}, Flaps{100ms, 1s, 5s}}) {
        for (const int phase : phases()) {
            const Duration from = 1500ms + flaps.period * phase / 10;
            Flapping line(flaps, from);
            line.s.run_for(from + 2 * flaps.period + 2 * flaps.length);
            const auto all = slices(line.s, line.bulk, std::max<Duration>(8s, 2 * flaps.period));
            INFO(flaps.length / 1ms << " ms of " << flaps.period / 1ms << ", from " << from / 1ms << ": " << mean(all)
                                    << ", at least " << *std::ranges::min_element(all) << ", alone " << without);
            CHECK(mean(all) >= 0.999 * without);
            CHECK(*std::ranges::min_element(all) >= 0.97 * without);
        }
    }
}

TEST_CASE("a path that was dark once is used at once, one that flapped within seconds of the last time") {
    for (const int phase : phases()) {
        const Duration from = 1500ms + 100ms * phase;
        INFO("from " << from / 1ms);
        Flapping once({100ms, 500ms, 0s}, from);
        once.s.run_for(from + 1500ms);
        CHECK(once.carried(1s) >= 5.0);

        Flapping often({100ms, 500ms, 1s}, from);
        often.s.run_for(from + 9500ms);
        CHECK(often.carried(500ms) <= 1.0);
        often.steady();
        often.s.run_for(10s);
        CHECK(often.carried(1s) >= 5.0);
    }
}

TEST_CASE("a path that flapped and then loses at random is not left out for ever", "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const Flaps& flaps : {Flaps{100ms, 500ms, 1s}, Flaps{100ms, 200ms, 1s}}) {
        for (const double loss : {0.05, 0.1}) {
            for (const Duration from : {1500ms, 1800ms, 2100ms, 2400ms}) {
                if (size_scale() < 1.0 && (from > 1500ms || loss < 0.1)) continue;
                Flapping line(flaps, from);
                line.s.run_for(8s);
                line.steady(loss);
                line.s.run_for(45s);
                const double after = line.carried(5s);
                INFO(flaps.length / 1ms << " ms, " << loss << ", from " << from / 1ms << ": " << after << " Mbit/s");
                CHECK(after >= 5.0);
            }
        }
    }
}
