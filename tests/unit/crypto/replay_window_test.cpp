#include "crypto/packet_protection.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "test/catch.hpp"

using udtx::PacketNumber;
using udtx::crypto::ReplayWindow;

TEST_CASE("A number is accepted once") {
    ReplayWindow window;
    for (const PacketNumber n :
         {PacketNumber{0}, PacketNumber{5}, PacketNumber{1}, PacketNumber{64}, PacketNumber{63}}) {
        CHECK(window.check(n));
        window.mark(n);
        CHECK_FALSE(window.check(n));
    }
    CHECK(window.check(2));
    CHECK(window.check(~PacketNumber{0}));
}

TEST_CASE("Numbers that fell out of the window are refused, those inside are not") {
    constexpr std::uint64_t kSize = 1024;
    ReplayWindow window(kSize);
    window.mark(10);
    window.mark(5000);
    CHECK_FALSE(window.check(10));
    CHECK_FALSE(window.check(11));
    CHECK_FALSE(window.check(5000 - kSize - 1));
    CHECK(window.check(5000 - kSize + 64));
    CHECK(window.check(4999));
    window.mark(10);  // too old for the window: nothing changes
    CHECK(window.check(10 + 4096));
}

TEST_CASE("Memory grows with the numbers and ends at the window") {
    ReplayWindow window;
    CHECK(window.memory_bytes() == 0);
    window.mark(0);
    CHECK(window.memory_bytes() == 8);
    for (PacketNumber n = 0; n < 1000; ++n) window.mark(n);
    CHECK(window.memory_bytes() <= 128);
    window.mark(PacketNumber{1} << 40U);
    CHECK(window.memory_bytes() == ReplayWindow::kDefaultPackets / 8);
    window.mark(~PacketNumber{0});
    CHECK_FALSE(window.check(~PacketNumber{0}));
    CHECK(window.check(~PacketNumber{0} - 1));
}

TEST_CASE("Random numbers against a naive model") {
    constexpr std::uint64_t kSize = 256;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        INFO("seed " << seed);
        std::mt19937_64 random(seed);
        ReplayWindow window(kSize);
        std::set<PacketNumber> seen;
        PacketNumber top = 0;
        for (int step = 0; step < 3000; ++step) {
            const std::uint64_t jump = random() % 100 == 0 ? random() % 2000 : random() % 8;
            const std::uint64_t back = random() % 3 == 0 ? random() % (kSize * 2) : 0;
            const PacketNumber number = top + jump > back ? top + jump - back : 0;
            // The window advances by words of 64 numbers.
            const bool in_window = seen.empty() || number / 64 + kSize / 64 > top / 64;
            const bool fresh = in_window && !seen.contains(number);
            REQUIRE(window.check(number) == fresh);
            if (!fresh) continue;
            window.mark(number);
            seen.insert(number);
            top = std::max(top, number);
        }
    }
}
