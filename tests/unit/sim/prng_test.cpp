#include "sim/prng.hpp"

#include "test/catch.hpp"

using udtx::sim::Prng;

TEST_CASE("prng gives the same numbers on every platform") {
    // Expected values from the authors' reference code: splitmix64 seeds xoshiro256**.
    Prng prng(42);
    CHECK(prng.next() == 1546998764402558742ULL);
    CHECK(prng.next() == 6990951692964543102ULL);
    CHECK(prng.next() == 12544586762248559009ULL);
}

TEST_CASE("prng chance keeps to its probability and draws nothing at zero") {
    Prng prng(7);
    int hits = 0;
    for (int i = 0; i < 100000; ++i) hits += prng.chance(0.3) ? 1 : 0;
    CHECK(hits > 29500);
    CHECK(hits < 30500);
    Prng a(9);
    Prng b(9);
    CHECK_FALSE(a.chance(0.0));
    CHECK(a.next() == b.next());
}

TEST_CASE("prng parts of one seed are unrelated") {
    CHECK(Prng::derive(1, 1).next() != Prng::derive(1, 2).next());
    CHECK(Prng::derive(1, 1).next() != Prng::derive(2, 1).next());
    CHECK(Prng::derive(1, 1).next() == Prng::derive(1, 1).next());
}

TEST_CASE("sim rng fills any length") {
    udtx::sim::SimRng a(5);
    udtx::sim::SimRng b(5);
    std::array<std::byte, 13> first{};
    std::array<std::byte, 13> second{};
    a.fill(first);
    b.fill(second);
    CHECK(first == second);
    CHECK(first[12] != std::byte{0});
}
