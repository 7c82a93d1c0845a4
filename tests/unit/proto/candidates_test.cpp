#include "proto/candidates.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::proto;
using namespace std::chrono_literals;

namespace {

Address host(std::uint8_t last) {
    Address a;
    a.family = Address::Family::v4;
    a.ip = {192, 0, 2, last};
    a.port = 7011;
    return a;
}

PathAddresses to(std::uint8_t last, Duration after = {}) {
    return {.local = {}, .remote = host(last), .options = {}, .after = after};
}

std::vector<int> due(Candidates& candidates) {
    std::vector<int> all;
    while (const auto* next = candidates.next()) all.push_back(next->remote.ip[3]);
    return all;
}

}  // namespace

TEST_CASE("candidates: each begins in its turn, and a later flight goes to all that have begun") {
    Candidates candidates({to(1), to(2), to(3, 2s)});
    CHECK(candidates.next_begin() == 0s);
    CHECK(candidates.begin(0s));
    CHECK(due(candidates) == std::vector{1});
    CHECK_FALSE(candidates.begin(249ms));
    CHECK(candidates.next_begin() == 250ms);
    CHECK(candidates.begin(250ms));
    CHECK(due(candidates) == std::vector{2});
    candidates.repeat();
    CHECK(due(candidates).size() == 2);
    CHECK(candidates.next_begin() == 2s);
    CHECK(candidates.begin(5s));
    CHECK(due(candidates) == std::vector{3});
    CHECK_FALSE(candidates.next_begin());
}

TEST_CASE("candidates: one that comes late is tried at once, before those that are still to begin") {
    Candidates candidates({to(1), to(2, 2s)});
    (void)candidates.begin(0s);
    (void)due(candidates);
    candidates.add(to(9), 1s);
    CHECK(candidates.next_begin() == 1s);
    CHECK(candidates.begin(1s));
    CHECK(due(candidates) == std::vector{9});
    CHECK(candidates.next_begin() == 2s);
}

TEST_CASE("candidates: if the system cannot send to those that have begun, the next one begins at once") {
    Candidates candidates({to(1), to(2), to(3, 2s)});
    (void)candidates.begin(0s);
    (void)due(candidates);
    CHECK_FALSE(candidates.block({}, host(1)));
    CHECK(due(candidates) == std::vector{2});
    candidates.repeat();
    CHECK(due(candidates) == std::vector{2});
    CHECK_FALSE(candidates.block({}, host(2)));
    CHECK(due(candidates) == std::vector{3});
    CHECK(candidates.block({}, host(3)));
    CHECK(due(candidates).empty());
}

TEST_CASE("candidates: where the system cannot send, one that is to be added is waited for, and tried at once") {
    PathAddresses expected = to(2, Candidates::kNever);
    expected.remote.carrier = Carrier::tcp;
    Candidates candidates({to(1), expected});
    (void)candidates.begin(0s);
    (void)due(candidates);
    CHECK_FALSE(candidates.block({}, host(1)));
    candidates.repeat();
    CHECK(due(candidates).empty());
    candidates.add(to(9, 2s), 1s);
    CHECK(candidates.begin(1s));
    CHECK(due(candidates) == std::vector{9});
}

TEST_CASE("candidates: a datagram tells by which of them it came") {
    Address stream = host(1);
    stream.carrier = Carrier::tcp;
    Address end = host(7);
    end.carrier = Carrier::tcp;
    PathAddresses carried = to(1);
    carried.remote = stream;
    carried.local = end;
    Candidates candidates({to(1), carried});
    (void)candidates.begin(1s);
    REQUIRE(candidates.came_by({}, host(1)) != nullptr);
    CHECK(candidates.came_by({}, host(1))->remote.carrier == Carrier::udp);
    REQUIRE(candidates.came_by(end, stream) != nullptr);
    CHECK(candidates.came_by(end, stream)->remote.carrier == Carrier::tcp);
    CHECK(candidates.came_by({}, stream) == nullptr);
    CHECK(candidates.came_by({}, host(2)) == nullptr);
    candidates.settle();
    CHECK(candidates.all().empty());
    CHECK(candidates.next() == nullptr);
    CHECK_FALSE(candidates.next_begin());
}

TEST_CASE("a candidate that is never tried does not replace one that cannot be reached") {
    Candidates candidates({to(1, Candidates::kNever)});
    candidates.add(to(2), 0ms);
    CHECK(candidates.begin(0ms));
    CHECK(due(candidates) == std::vector{2});
    CHECK_FALSE(candidates.block({}, host(2)));
    CHECK_FALSE(candidates.begin(1h));
    candidates.repeat();
    CHECK(due(candidates).empty());
    candidates.add(to(3), 1h);
    CHECK(candidates.begin(1h));
    CHECK(due(candidates) == std::vector{3});
}
