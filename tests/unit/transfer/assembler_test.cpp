#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "transfer/job/incoming.hpp"

using namespace udtx::transfer;

// Only the buffers of pieces are allocated with page alignment, so a test can make exactly those allocations fail.
static bool pages_lack = false;

void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    const auto step = static_cast<std::size_t>(alignment);
    void* const memory = pages_lack ? nullptr : std::aligned_alloc(step, (bytes + step - 1) / step * step);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

namespace {

std::byte pattern(std::uint64_t offset) { return static_cast<std::byte>(offset * 2654435761U >> 13U); }

std::vector<std::byte> pattern(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::byte> out;
    for (std::uint64_t at = begin; at < end; ++at) out.push_back(pattern(at));
    return out;
}

}  // namespace

TEST_CASE("early data comes back once, in order, as it was held") {
    EarlyData early;
    early.hold(200'000, pattern(200'000, 200'010));
    early.hold(65'530, pattern(65'530, 65'600));
    early.hold(3, pattern(3, 4));
    std::map<std::uint64_t, std::size_t> seen;
    const auto collect = [&](std::uint64_t offset, std::span<const std::byte> bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(bytes[i] == pattern(offset + i));
        seen[offset] += bytes.size();
    };
    early.release_below(65'550, collect);
    CHECK(seen == std::map<std::uint64_t, std::size_t>{{3, 1}, {65'530, 6}, {65'536, 14}});
    seen.clear();
    early.release_below(65'600, collect);
    CHECK(seen == std::map<std::uint64_t, std::size_t>{{65'550, 50}});
    early.release_below(1'000'000, collect);
    CHECK(early.empty());
}

TEST_CASE("a block whose bytes are all announced is not held any more") {
    EarlyData early;
    early.hold(10, pattern(10, 20));
    early.release_below(20, [](std::uint64_t, std::span<const std::byte>) {});
    CHECK(early.empty());
}

TEST_CASE("alternating holes cost memory by the block, not by the hole") {
    EarlyData early;
    for (std::uint64_t at = 0; at < 200'000; at += 2) early.hold(at, pattern(at, at + 1));
    CHECK(early.held_bytes() < 4U * 75'000U);
    std::uint64_t bytes = 0;
    early.release_below(200'000, [&](std::uint64_t offset, std::span<const std::byte> got) {
        CHECK(offset % 2 == 0);
        bytes += got.size();
    });
    CHECK(bytes == 100'000);
}

TEST_CASE("pieces become whole in any order of bytes and announcements") {
    std::mt19937 generator(7);
    for (int round = 0; round < 20; ++round) {
        const std::vector<Extent> extents{{0, 100}, {kPieceBytes - 50, 3000}, {5 * kPieceBytes, kPieceBytes + 10}};
        std::uint64_t total = 0;
        for (const Extent& extent : extents) total += extent.length;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> cuts;
        for (std::uint64_t at = 0; at < total;) {
            const std::uint64_t stop = std::min<std::uint64_t>(total, at + 1 + generator() % 60'000);
            cuts.emplace_back(at, stop);
            at = stop;
        }
        std::shuffle(cuts.begin(), cuts.end(), generator);
        PieceAssembler assembler;
        assembler.begin_file(0);
        std::size_t announced = 0;
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            if (announced < extents.size() && i * extents.size() >= announced * cuts.size() + generator() % 3) {
                REQUIRE(assembler.announce(extents[announced++]));
            }
            assembler.on_bytes(cuts[i].first, pattern(cuts[i].first, cuts[i].second));
        }
        while (announced < extents.size()) REQUIRE(assembler.announce(extents[announced++]));
        CHECK(assembler.complete());
        CHECK_FALSE(assembler.has_unannounced());
        std::uint64_t bytes = 0;
        for (const WholePiece& whole : assembler.whole()) {
            bytes += whole.data.size();
            REQUIRE(whole.data.size() == whole.piece.length);
            const auto expected = pattern(whole.piece.stream_offset, whole.piece.stream_offset + whole.piece.length);
            CHECK(std::equal(expected.begin(), expected.end(), whole.data.bytes().begin()));
        }
        CHECK(bytes == total);
        CHECK(assembler.whole().size() == 5);
    }
}

TEST_CASE("what comes before its announcement takes no more memory than the window, whatever the pattern") {
    constexpr std::uint64_t kWindow = 64U << 20U;
    const std::size_t bound = kWindow + kWindow / 8 + (256U << 10U);
    for (const std::uint64_t step : {std::uint64_t{1024}, std::uint64_t{64U << 10U}, (64U << 10U) + std::uint64_t{1}}) {
        EarlyData early;
        const std::array<std::byte, 1> one{std::byte{1}};
        std::uint64_t sent = 0;
        for (std::uint64_t at = 12345; at < 12345 + kWindow; at += step) {
            early.hold(at, one);
            ++sent;
        }
        CHECK(early.held_bytes() <= bound);
        std::uint64_t released = 0;
        early.release_below(12345 + kWindow,
                            [&](std::uint64_t, std::span<const std::byte> bytes) { released += bytes.size(); });
        CHECK(released == sent);
        CHECK(early.empty());
        CHECK(early.held_bytes() == 0);
    }
}

TEST_CASE("a piece that finds no memory leaves nothing behind, and comes when there is some") {
    PieceAssembler assembler;
    REQUIRE(assembler.announce({0, kPieceBytes}));
    pages_lack = true;
    CHECK_THROWS_AS(assembler.on_bytes(0, pattern(0, 1000)), std::bad_alloc);
    CHECK_THROWS_AS(assembler.on_bytes(1000, pattern(1000, 2000)), std::bad_alloc);
    pages_lack = false;
    assembler.on_bytes(0, pattern(0, kPieceBytes));
    CHECK(assembler.whole().size() == 1);
}
