#include "transfer/file/pieces.hpp"

#include <random>
#include <vector>

#include "test/catch.hpp"

using namespace udtx::transfer;

namespace {

/// Cuts each extent of the list into pieces the slow way.
std::vector<Piece> naive(const std::vector<std::vector<Extent>>& files) {
    std::vector<Piece> out;
    std::uint64_t stream = 0;
    for (std::size_t file = 0; file < files.size(); ++file) {
        std::uint64_t ordinal = 0;
        for (const Extent& extent : files[file]) {
            std::uint64_t at = extent.offset;
            while (at < extent.offset + extent.length) {
                const std::uint64_t stop =
                    std::min((at / kPieceBytes + 1) * kPieceBytes, extent.offset + extent.length);
                out.push_back({file, ordinal++, at, stop - at, stream});
                stream += stop - at;
                at = stop;
            }
        }
    }
    return out;
}

std::vector<std::vector<Extent>> random_files(std::mt19937& generator) {
    std::vector<std::vector<Extent>> files(1 + generator() % 8);
    for (auto& extents : files) {
        std::uint64_t at = 0;
        for (std::size_t n = generator() % 5; n > 0; --n) {
            at += generator() % 3 == 0 ? 0 : generator() % (3 * kPieceBytes);
            const std::uint64_t length =
                1 + (generator() % 2 == 0 ? generator() % 100 : generator() % (4 * kPieceBytes));
            extents.push_back({at, length});
            at += length;
        }
    }
    return files;
}

}  // namespace

TEST_CASE("the map finds the piece that the naive cut gives, for every border") {
    std::mt19937 generator(1);
    for (int round = 0; round < 50; ++round) {
        const auto files = random_files(generator);
        PieceMap map;
        for (std::size_t file = 0; file < files.size(); ++file) {
            map.begin_file(file);
            std::uint64_t pieces = 0;
            for (const Extent& extent : files[file]) {
                REQUIRE(map.append(extent));
                pieces += piece_count(extent);
            }
            CHECK(map.latest_file_pieces() == pieces);
        }
        const auto expected = naive(files);
        for (const Piece& piece : expected) {
            CHECK(map.find(piece.stream_offset) == piece);
            CHECK(map.find(piece.stream_offset + piece.length - 1) == piece);
            CHECK(map.find(piece.stream_offset + piece.length / 2) == piece);
        }
        CHECK_FALSE(map.find(map.end()).has_value());
    }
}

TEST_CASE("complete extents are forgotten from the front") {
    PieceMap map;
    map.begin_file(0);
    REQUIRE(map.append({0, 10}));
    REQUIRE(map.append({100, 10}));
    const Piece first = *map.find(0);
    const Piece second = *map.find(10);
    map.complete(second);
    CHECK(map.open_extents() == 2);
    CHECK(map.open_bytes() == 10);
    map.complete(first);
    CHECK(map.open_extents() == 0);
    CHECK(map.end() == 20);
    CHECK_FALSE(map.find(5).has_value());
}

TEST_CASE("a stream cannot grow beyond what offsets can say") {
    PieceMap map;
    map.begin_file(0);
    REQUIRE(map.append({0, 1ULL << 61U}));
    CHECK_FALSE(map.append({1ULL << 61U, 1ULL << 61U}));
    CHECK(map.end() == 1ULL << 61U);
}
