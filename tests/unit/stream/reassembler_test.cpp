#include "stream/recv_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "test/catch.hpp"

using udtx::stream::Reassembler;

namespace {
std::byte at(std::uint64_t offset) { return static_cast<std::byte>(offset * 7 + (offset >> 9U)); }
std::vector<std::byte> bytes(std::uint64_t offset, std::size_t n) {
    std::vector<std::byte> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = at(offset + i);
    return out;
}
}  // namespace

TEST_CASE("bytes come out in order however they went in") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        std::uint64_t state = seed;
        const auto random = [&state](std::uint64_t n) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            return (state >> 33U) % n;
        };
        constexpr std::size_t kTotal = 400000;
        std::vector<bool> model(kTotal);
        Reassembler r;
        std::uint64_t read = 0;
        std::uint64_t stored = 0;
        std::vector<std::byte> out(5000);
        std::vector<std::pair<std::uint64_t, udtx::Chunk>> kept;
        for (int step = 0; step < 3000 && read < kTotal; ++step) {
            const std::uint64_t begin = std::min<std::uint64_t>(read + random(200000), kTotal - 1) & ~511ULL;
            const std::size_t n = std::min<std::size_t>(1 + random(3000), kTotal - begin);
            std::uint64_t fresh = 0;
            for (std::uint64_t i = begin; i < begin + n; ++i) {
                if (i >= read && !model[i]) {
                    model[i] = true;
                    ++fresh;
                }
            }
            REQUIRE(r.insert(begin, bytes(begin, n)) == fresh);
            stored += fresh;
            std::size_t got = r.read(std::span(out).first(1 + random(out.size() - 1)));
            for (std::size_t i = 0; i < got; ++i) REQUIRE(out[i] == at(read + i));
            if (random(2) == 0) {
                const udtx::Chunk taken = r.take();
                for (std::size_t i = 0; i < taken.size(); ++i) REQUIRE(taken.bytes()[i] == at(read + got + i));
                got += taken.size();
                kept.push_back({read + got - taken.size(), taken});
            }
            read += got;
            const std::uint64_t edge = static_cast<std::uint64_t>(
                std::find(model.begin() + static_cast<std::ptrdiff_t>(read), model.end(), false) - model.begin());
            REQUIRE(r.readable() == edge - read);
        }
        stored += r.insert(0, bytes(0, kTotal));
        while (const std::size_t got = r.read(out)) {
            for (std::size_t i = 0; i < got; ++i) REQUIRE(out[i] == at(read + i));
            read += got;
        }
        CHECK(read == kTotal);
        CHECK(stored == kTotal);
        // Later data does not overwrite chunks that were read.
        for (const auto& [offset, chunk] : kept) {
            for (std::size_t i = 0; i < chunk.size(); ++i) REQUIRE(chunk.bytes()[i] == at(offset + i));
        }
    }
}

TEST_CASE("memory follows what is held, not how far the stream has come") {
    Reassembler r;
    std::vector<std::byte> out(100000);
    for (std::uint64_t offset = 0; offset < 50'000'000; offset += 100000) {
        r.insert(offset, out);
        CHECK(r.read(out) == 100000);
        REQUIRE(r.memory() <= 3 * 65536);
    }
}
