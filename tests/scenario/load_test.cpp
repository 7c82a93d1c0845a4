// Very many connections, and very long ones.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "sim/check.hpp"
#include "sim/incast.hpp"
#include "test/fault_case.hpp"
#include "test/resident.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

struct IncastCase {
    const char* congestion;
    std::size_t hosts;  ///< in each test run; the whole matrix has more
    double fairness;    ///< lower bound of Jain's index
    const char* bound;
};
constexpr std::array kIncasts{
    IncastCase{"udt", 50, 0.9,
               "udt, connections in virtual time (1,000; 10,000 in the whole matrix): all finish, Jain at least 0.9"},
    // If transfers take seconds, this controller gives more to those that start first.
    IncastCase{
        "udtx", 10, 0.8,
        "the default controller, connections in virtual time (200; 10,000 in the whole matrix): all finish, Jain "
        "at least 0.8"}};

}  // namespace

TEST_CASE("F79 very many connections over one line all finish, at speeds that are alike") {
    for (const IncastCase& with : kIncasts) {
        const std::size_t hosts = whole_matrix() ? 200 : with.hosts;
        const auto each = static_cast<std::size_t>((whole_matrix() ? 50 : 20) * std::max(size_scale(), 0.1));
        constexpr std::uint64_t kBytes = 700'000;
        const auto rate = hosts * each * 1'000'000;
        const LinkParams line{.bits_per_second = rate, .delay = 25ms, .queue_bytes = rate / 8 / 20};
        const IncastSetup setup{.hosts = hosts,
                                .each = each,
                                .bytes = kBytes,
                                .line = line,
                                .congestion = with.congestion,
                                .seed = seed_or_environment(1)};
        Incast incast(setup);
        incast.run(300s);
        const double fairness = incast.fairness();
        INFO(with.congestion << ", seed " << seed_or_environment(1) << ": " << incast.finished() << " of "
                             << incast.size() << " finished after " << to_seconds(incast.elapsed())
                             << " s, Jain's index of their speeds " << fairness);
        CHECK(incast.finished() == incast.size());
        CHECK(incast.intact() == incast.size());
        if (size_scale() < 1.0) continue;  // chance decides between a few connections
        CHECK(fairness >= with.fairness);
        test::fault_case(79, with.bound, incast.finished(), " of ", incast.size(), ", Jain ", fairness);
    }
}

TEST_CASE("F81 72 hours: memory does not grow") {
    Scenario s(symmetric("72 hours", {.loss = 0.01}));
    const auto ping = std::make_shared<Ping>(1'000'000, 10s);
    s.server().listen(1, [](proto::Connection&) { return std::make_shared<Echo>(); });
    s.client().connect(s.server().address(), ping);
    const Duration hour = std::chrono::hours(1);
    const auto hours = static_cast<int>(72 * size_scale());
    s.run_for(hour);
    const std::uint64_t early = test::resident_bytes();
    s.run_for(hours * hour);
    const std::uint64_t late = test::resident_bytes();
    SIM_CHECK(s, !s.client().session().closed);
    SIM_CHECK(s, ping->answered() > static_cast<unsigned>(300 * hours));
    if (size_scale() == 1.0) SIM_CHECK(s, late <= early + (4U << 20U));  // a sanitizer keeps freed memory
    test::fault_case(81, "72 virtual hours of one connection: RSS grows by at most 4 MiB",
                     (late - std::min(early, late)) >> 10U, " KiB");
}
