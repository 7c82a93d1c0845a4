#include "papers/measure.hpp"

#include <array>
#include <test/catch.hpp>

using namespace udtx::papers;

TEST_CASE("Jain's index: equal shares are 1, one of n has all is 1/n, known value between") {
    CHECK(jain(std::array{5.0, 5.0, 5.0}) == Approx(1.0));
    CHECK(jain(std::array{9.0, 0.0, 0.0}) == Approx(1.0 / 3.0));
    CHECK(jain(std::array{60.0, 30.0, 10.0}) == Approx(10000.0 / (3 * 4600.0)));
    CHECK(jain(std::array{0.6, 0.3, 0.1}) == Approx(jain(std::array{60.0, 30.0, 10.0})));  // independent of the unit
}

TEST_CASE("nobody gets anything: not fair") {
    CHECK(jain(std::array{0.0, 0.0}) == 0.0);
    CHECK(min_over_max(std::array{0.0, 0.0}) == 0.0);
    CHECK(deviation(std::array{0.0, 0.0}) == 0.0);
    CHECK(jain({}) == 0.0);
    CHECK(min_over_max({}) == 0.0);
}

TEST_CASE("smallest over largest, mean absolute deviation from the fair share") {
    CHECK(min_over_max(std::array{60.0, 30.0, 10.0}) == Approx(1.0 / 6.0));
    // The fair share is 33.3. Deviations of 26.7, 3.3 and 23.3 have the mean 17.8, which is divided by 33.3.
    CHECK(deviation(std::array{60.0, 30.0, 10.0}) == Approx(160.0 / 300.0));
    CHECK(deviation(std::array{50.0, 50.0}) == 0.0);
    CHECK(deviation(std::array{100.0, 0.0}) == Approx(1.0));
}

namespace {

// One flow until 5 s, then two, from 10 s three. The third needs time to reach its share.
std::vector<FlowSeconds> three_flows() {
    return {{0.0, {90, 90, 90, 90, 90, 60, 60, 60, 60, 60, 60, 60, 30, 30}},
            {5.004, {0, 0, 0, 0, 0, 20, 30, 30, 30, 30, 20, 20, 30, 30}},
            {10.009, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 10, 30, 30}}};
}

}  // namespace

TEST_CASE("only flows that had joined when a second began count in it") {
    const auto flows = three_flows();
    CHECK(shares_in(flows, 4) == std::vector<double>{90});
    CHECK(shares_in(flows, 5) == std::vector<double>{60});
    CHECK(shares_in(flows, 6) == std::vector<double>{60, 30});
    CHECK(shares_in(flows, 11) == std::vector<double>{60, 20, 10});
}

TEST_CASE("means over seconds leave out those with a single flow") {
    const auto flows = three_flows();
    CHECK(mean_fairness(flows, 0, 5).seconds == 0);
    const Fairness two = mean_fairness(flows, 0, 10);
    CHECK(two.seconds == 4);
    CHECK(two.jain == Approx(8100.0 / (2 * 4500.0)));
    CHECK(two.min_over_max == Approx(0.5));
    CHECK(two.deviation == Approx(1.0 / 3.0));
    CHECK(mean_fairness(flows, 12, 100).jain == Approx(1.0));  // stops at the end of the run
    CHECK(mean_fairness(flows, 12, 100).seconds == 2);
}

TEST_CASE("totals over a span") {
    const auto flows = three_flows();
    const Fairness totals = fairness_of_totals(flows, 11, 13);
    CHECK(totals.min_over_max == Approx(40.0 / 90.0));
    CHECK(mean_throughput(flows, 0, 5) == Approx(90.0));
    CHECK(mean_throughput(flows, 10, 12) == Approx((85.0 + 90.0) / 2));
    CHECK(mean_throughput(flows, 20, 30) == 0.0);
}

TEST_CASE("time to fairness counts from the last join to the end of the first fair second") {
    const auto flows = three_flows();
    CHECK(time_to_fair(flows, 0.98).value() == Approx(13 - 10.009));
    CHECK_FALSE(time_to_fair(std::vector<FlowSeconds>{{0.0, {9, 9}}, {0.0, {1, 1}}}, 0.98).has_value());
}
