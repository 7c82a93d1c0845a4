#include "transfer/file/journal.hpp"

#include <string>
#include <utility>
#include <vector>

#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/fault_case.hpp"
#include "transfer/file/records.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_format.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

Digest digest_of(std::uint8_t fill) { return Digest(std::vector<std::byte>(16, std::byte{fill})); }

/// A journal and the end offset of each record.
struct Written {
    std::vector<std::byte> bytes;
    std::vector<std::size_t> ends;

    void add(const JournalRecord& record) {
        append_record(bytes, bytes.size(), record);
        ends.push_back(bytes.size());
    }
    [[nodiscard]] std::size_t records_within(std::size_t size) const {
        std::size_t n = 0;
        while (n < ends.size() && ends[n] <= size) ++n;
        return n;
    }
};

Written sample() {
    Written out;
    out.add(record::Header{kJournalVersion, 77, HashAlgorithm::xxh3_128});
    out.add(record::Partial{0, {"d", "big"}});
    for (std::uint8_t i = 0; i < 3; ++i) out.add(record::Piece{0, {std::uint64_t{i} << 20U, 1U << 20U, digest_of(i)}});
    out.add(record::Done{path_key("d/small"), 5, {-9, 999'999'999}, digest_of(9)});
    return out;
}

std::size_t pieces_of(const JournalImage& image, const std::string& path) {
    const auto at = image.partials.find(path_key(path));
    return at == image.partials.end() ? 0 : at->second.pieces.size();
}

}  // namespace

TEST_CASE("a journal says what was written into it") {
    const JournalImage image = parse_journal(sample().bytes);
    CHECK(image.valid_bytes == sample().bytes.size());
    CHECK(image.header.transfer == 77);
    CHECK(image.partials.at(path_key("d/big")).path == "d/big");
    CHECK(image.partials.at(path_key("d/big")).pieces.at(2U << 20U).digest == digest_of(2));
    CHECK(image.done.at(path_key("d/small")).mtime == FileTime{-9, 999'999'999});
    CHECK(image.next_number == 1);
}

TEST_CASE("the layout of each record of a journal stays") {
    const std::vector<std::pair<JournalRecord, std::string>> written{
        {record::Header{kJournalVersion, 0x0123456789abcdef, HashAlgorithm::sha256},
         "000bb31e04445f4de9f601030123456789abcdef02"},
        {record::Partial{70, {"d", "big"}}, "000a8d0691a119e4d40a02404602016403626967"},
        {record::SharedPartial{71, {"d", "cut"}, 0xfedcba9876543210},
         "0012dc1d37a9ffd5ec0008404702016403637574fedcba9876543210"},
        {record::Piece{70, {1ULL << 40U, 1U << 20U, Digest(std::vector<std::byte>(32, std::byte{5}))}},
         "0030f2f16916e73ca4a3034046c000010000000000801000002005050505050505050505050505050505050505050505"
         "05050505050505050505"},
        {record::Gone{70}, "0003b75fcf8d0cc9c1b6044046"},
        {record::Rights{{"d"}, 0500, true}, "0007a54f9ecc129410e006010164414001"},
        {record::Rights{{}, 07777, false}, "0005388a41121650e30206004fff00"},
        {record::Done{0x0123456789abcdef, 5, {-9, 999'999'999}, digest_of(9)},
         "002734aedfa7ad1bdb59070123456789abcdef05fffffffffffffff7bb9ac9ff10090909090909090909090909090909"
         "09"}};
    for (const auto& [record, hex] : written) {
        std::vector<std::byte> bytes;
        append_record(bytes, 77, record);
        CHECK(test::to_hex(bytes) == hex);
    }
}

TEST_CASE("the layout of each record of a job stays") {
    const std::vector<std::pair<JobRecord, std::string>> written{
        {job_record::Head{kJobFileVersion, 0x0123456789abcdef, 4096, 42, HashAlgorithm::sha256, 5, ~0ULL},
         "002581b12b399fd9aca501030123456789abcdef5000000000000000002a020000000000000005ffffffffffffffff"},
        {job_record::FileBegun{0x1111, {"d", "cut"}, 1ULL << 40U, {-9, 999'999'999}},
         "00247154cd01b39d343e02000000000000111102016403637574c000010000000000fffffffffffffff7bb9ac9ff"},
        {job_record::PartPiece{0x1111, {1ULL << 30U, 1U << 20U, Digest(std::vector<std::byte>(32, std::byte{5}))}},
         "00369a39e1d918e1b72a030000000000001111c000000040000000801000002005050505050505050505050505050505"
         "05050505050505050505050505050505"},
        {job_record::PartFilled{0x1111, {0, 1ULL << 30U}, {{1, 2}, {3, 4}}},
         "0024e811cf3ce8e0efa304000000000000111100c000000040000000000000000000000102000000000000000304"},
        {job_record::FileNamed{0x1111}, "0009fedd818dcb2d8eaa050000000000001111"},
        {job_record::ShardState{4095, job_record::ShardState::State::found}, "000493f959d2cbe68c39064fff02"},
        {job_record::Top{{"d"}, {7, 8}}, "000dcc23a7e7b75372fb07010164000000000000000708"},
        {job_record::FileOpened{0x1111, 3, true}, "000b18eb332bd6dbf67a0800000000000011110301"},
        {job_record::FileLeft{0x1111, {{1, 2}, {3, 4}}},
         "001bfc3d26fc42041a2f090000000000001111000000000000000102000000000000000304"},
        {job_record::PartVoid{0x1111, 1ULL << 30U}, "001178b994c2c48365010a0000000000001111c000000040000000"}};
    for (const auto& [record, hex] : written) {
        std::vector<std::byte> bytes;
        append_record(bytes, 77, record);
        CHECK(test::to_hex(bytes) == hex);
    }
}

TEST_CASE("a journal of another version is not used") {
    const auto version = GENERATE(std::uint64_t{1}, std::uint64_t{2}, kJournalVersion + 1);
    Written other;
    other.add(record::Header{version, 77, HashAlgorithm::xxh3_128});
    CHECK(parse_journal(other.bytes).valid_bytes == 0);
}

TEST_CASE("a transfer cannot choose the name of another one's temporary file by its number") {
    CHECK(temp_number(5, "a") != temp_number(6, "a"));
    CHECK(temp_number(5, "a") == 0xd8cba88b6771f8c1U);
}

TEST_CASE("F60 of a torn journal the records before the tear are believed, and no other") {
    const Written written = sample();
    for (std::size_t size = 0; size < written.bytes.size(); ++size) {
        const JournalImage image = parse_journal(std::span(written.bytes).first(size));
        const std::size_t whole = written.records_within(size);
        REQUIRE(image.valid_bytes == (whole == 0 ? 0 : written.ends[whole - 1]));
        REQUIRE(image.done.empty());
        REQUIRE(pieces_of(image, "d/big") == (whole > 2 ? whole - 2 : 0));
    }
    test::fault_case(60, "a journal torn at each byte: only the records before the tear are used", written.bytes.size(),
                     " tears");
}

TEST_CASE("F60 an altered byte ends what is believed at its record") {
    const Written written = sample();
    for (std::size_t at = 0; at < written.bytes.size(); ++at) {
        auto bytes = written.bytes;
        bytes[at] ^= std::byte{0x10};
        const std::size_t before = written.records_within(at);
        REQUIRE(parse_journal(bytes).valid_bytes == (before == 0 ? 0 : written.ends[before - 1]));
    }
    test::fault_case(60, "a journal with each byte altered: only the records before it are used", written.bytes.size(),
                     " alterations");
}

TEST_CASE("a record at another place, and one that nothing led to, are not believed") {
    Written written = sample();
    auto doubled = written.bytes;
    doubled.insert(doubled.end(), written.bytes.begin() + static_cast<std::ptrdiff_t>(written.ends[1]),
                   written.bytes.begin() + static_cast<std::ptrdiff_t>(written.ends[2]));
    CHECK(parse_journal(doubled).valid_bytes == written.bytes.size());

    const std::size_t good = written.bytes.size();
    SECTION("a piece of no file") { written.add(record::Piece{5, {0, 1, digest_of(1)}}); }
    SECTION("a piece of no length") { written.add(record::Piece{0, {0, 0, digest_of(1)}}); }
    SECTION("a digest of another kind") { written.add(record::Piece{0, {0, 1, Digest()}}); }
    SECTION("a second header") { written.add(record::Header{}); }
    SECTION("a number once more") { written.add(record::Partial{0, {"other"}}); }
    SECTION("a path that leads out") { written.add(record::Partial{1, {"..", "x"}}); }
    CHECK(parse_journal(written.bytes).valid_bytes == good);
}

TEST_CASE("what is done or gone is not partial any more, whatever comes late") {
    Written written = sample();
    SECTION("done") {
        written.add(record::Done{path_key("d/big"), 3U << 20U, {1, 0}, digest_of(7)});
        written.add(record::Piece{0, {3U << 20U, 1, digest_of(1)}});
        CHECK(parse_journal(written.bytes).done.count(path_key("d/big")) == 1);
    }
    SECTION("gone") {
        written.add(record::Gone{0});
        written.add(record::Piece{0, {3U << 20U, 1, digest_of(1)}});
    }
    const JournalImage image = parse_journal(written.bytes);
    CHECK(image.valid_bytes == written.bytes.size());
    CHECK(image.partials.empty());
}
