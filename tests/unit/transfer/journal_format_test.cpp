#include "transfer/file/journal.hpp"
#include "transfer/names.hpp"

#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/fault_case.hpp"

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

TEST_CASE("a journal of version 1 has its times in nanoseconds") {
    std::vector<std::byte> body(1 + 8 + 1 + 8 + 1 + 16, std::byte{7});
    body[0] = std::byte{5};
    body[9] = std::byte{6};                                           // size
    for (std::size_t i = 10; i < 17; ++i) body[i] = std::byte{0xff};  // -2 ns
    body[17] = std::byte{0xfe};
    body[18] = std::byte{16};
    const auto record = parse_record(body);
    REQUIRE(record.ok());
    CHECK(std::get<record::Done>(*record).mtime == FileTime{-1, 999'999'998});
    Written written;
    written.add(record::Header{1, 77, HashAlgorithm::xxh3_128});
    written.add(*record);
    CHECK(parse_journal(written.bytes).done.size() == 1);
    Written later;
    later.add(record::Header{kJournalVersion + 1, 77, HashAlgorithm::xxh3_128});
    CHECK(parse_journal(later.bytes).valid_bytes == 0);
}

TEST_CASE("a transfer cannot choose the name of another one's temporary file by its number") {
    constexpr std::uint64_t kOthers = 0xaa;
    const std::uint64_t chosen = kOthers ^ path_key("mine");
    CHECK(temp_number({2, chosen}, "mine") == kOthers);  // in journals of version 2
    CHECK(temp_number({kJournalVersion, chosen}, "mine") != kOthers);
    CHECK(temp_number({kJournalVersion, 5}, "a") != temp_number({kJournalVersion, 6}, "a"));
    CHECK(temp_number({kJournalVersion, 5}, "a") == 0xd8cba88b6771f8c1U);
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
