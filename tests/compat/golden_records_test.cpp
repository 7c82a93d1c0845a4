// The golden files of what a receiver keeps beside the files: journal, job file, slots of shards, receipts.
#include <string>
#include <utility>
#include <vector>

#include "compat/golden.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/records.hpp"
#include "transfer/receipt/receipt.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/shard/job_format.hpp"
#include "transfer/shard/job_rate.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

Digest digest_of(std::uint8_t fill, std::size_t size = 16) {
    return Digest(std::vector<std::byte>(size, std::byte{fill}));
}

/// Compares each record with its part of the golden file, in both directions.
template <class Record>
void check_records(const std::string& file, const std::vector<Record>& expected) {
    const auto golden = test::golden_parts(file);
    REQUIRE(golden.size() == expected.size());
    std::vector<std::byte> written;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO(golden[i].name);
        const std::size_t before = written.size();
        append_record(written, before, expected[i]);
        CHECK(test::to_hex(std::span(written).subspan(before)) == test::to_hex(golden[i].bytes));
    }
    std::vector<Record> read;
    const auto bytes = test::golden_bytes(file);
    const std::size_t size = read_records<Record>(bytes, 0, [&](const auto& record) {
        read.push_back(record);
        return true;
    });
    CHECK(size == bytes.size());
    REQUIRE(read.size() == expected.size());
    std::vector<std::byte> again;
    for (const Record& record : read) append_record(again, again.size(), record);
    CHECK(again == bytes);
}

}  // namespace

TEST_CASE("a journal of 0.2 is read and written") {
    check_records<JournalRecord>(
        "journal.txt",
        {record::Header{3, 0x0123456789abcdef, HashAlgorithm::xxh3_128}, record::Partial{0, {"d", "big"}},
         record::Piece{0, {0, kMiB, digest_of(5)}}, record::Piece{0, {1ULL << 40U, kMiB, digest_of(6)}},
         record::SharedPartial{1, {"d", "cut"}, 0xfedcba9876543210}, record::Partial{70, {"gone"}}, record::Gone{70},
         record::Rights{{"d"}, 0500, true}, record::Rights{{}, 07777, false},
         record::Done{path_key("d/small"), 5, {-9, 999'999'999}, digest_of(9)}});
    const auto bytes = test::golden_bytes("journal.txt");
    const JournalImage image = parse_journal(bytes);
    CHECK(image.valid_bytes == bytes.size());
    CHECK(image.header.transfer == 0x0123456789abcdef);
    CHECK(image.partials.size() == 2);
    CHECK(image.partials.at(path_key("d/big")).pieces.at(1ULL << 40U).digest == digest_of(6));
    CHECK(image.partials.at(path_key("d/cut")).shared == 0xfedcba9876543210);
    CHECK(image.done.at(path_key("d/small")).size == 5);
    CHECK(image.rights.at("d") == 0500);
    CHECK(image.next_number == 71);
}

TEST_CASE("a record of a later release does not end a journal") {
    const auto parts = test::golden_parts("journal.txt");
    std::vector<std::byte> journal = parts[0].bytes;
    append_body(journal, journal.size(), std::vector{std::byte{kExtensionTypes}, std::byte{1}});
    append_record(journal, journal.size(), JournalRecord(record::Partial{0, {"d", "big"}}));
    const JournalImage image = parse_journal(journal);
    CHECK(image.valid_bytes == journal.size());
    CHECK(image.partials.size() == 1);
    append_body(journal, journal.size(), std::vector{std::byte{kMandatoryTypes}, std::byte{1}});
    CHECK(parse_journal(journal).valid_bytes == image.valid_bytes);
}

TEST_CASE("a job file of 0.2 is read and written") {
    namespace jr = job_record;
    check_records<JobRecord>(
        "job.txt",
        {jr::Head{3, 0x0123456789abcdef, 4096, 42, HashAlgorithm::sha256, 5, 0xfedcba9876543210},
         jr::Top{{"d"}, {7, 8}}, jr::ShardState{3, jr::ShardState::State::begun},
         jr::FileBegun{0x1111, {"d", "cut"}, 1ULL << 40U, {-9, 999'999'999}}, jr::FileOpened{0x1111, 3, true},
         jr::PartPiece{0x1111, {8 * kMiB, kMiB, digest_of(5, 32)}},
         jr::PartFilled{0x1111, {8 * kMiB, 8 * kMiB}, {{1, 2}, {3, 4}}}, jr::FileLeft{0x1111, {{5, 6}, {7, 8}}},
         jr::FileBegun{0x2222, {"small"}, 1, {1, 0}}, jr::FileNamed{0x2222},
         jr::ShardState{4095, jr::ShardState::State::found},
         jr::PartFilled{0x1111, {1ULL << 30U, 8 * kMiB}, {{9, 0}, {9, 1}}}, jr::PartVoid{0x1111, 1ULL << 30U}});
    const auto bytes = test::golden_bytes("job.txt");
    JobImage image;
    REQUIRE(image.read(bytes, 0) == bytes.size());
    CHECK(image.head.run == 0xfedcba9876543210);
    CHECK(image.shards.size() == 4096);
    CHECK(image.shards[3] == jr::ShardState::State::begun);
    CHECK(image.done() == 1);
    CHECK(image.tops.at("d") == FileTime{7, 8});
    CHECK(image.named.at(0x2222).path == "small");
    const JobImage::SharedFile& file = image.files.at(0x1111);
    CHECK(file.version == SharedVersion{"d/cut", 1ULL << 40U, {-9, 999'999'999}});
    CHECK(file.filled == std::map<std::uint64_t, std::uint64_t>{{8 * kMiB, 8 * kMiB}});
    CHECK(file.pieces.at(8 * kMiB).digest == digest_of(5, 32));
    CHECK(file.writers == std::map<std::uint64_t, bool>{{3, true}});
}

TEST_CASE("slots of shards of 0.2 are read and written") {
    const auto golden = test::golden_parts("shard-slots.txt");
    const std::vector<ShardSlot> expected{{0x0123456789abcdef, 17, ShardSlot::State::running, 400'000'000, 390'000'000,
                                           400'000'000, 385'000'000, 123456789, 987654321, 5, 1},
                                          {2, 1, ShardSlot::State::done, 0, 0, 0, 0, 7, 7, 1, 0}};
    REQUIRE(golden.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        REQUIRE(golden[i].bytes.size() == 128);
        FieldReader in(golden[i].bytes);
        ShardSlot slot;
        ShardSlot::fields(in, slot);
        CHECK(in.complete());
        CHECK(slot == expected[i]);
        std::vector<std::byte> written(128);
        wire::Writer bytes(written);
        FieldWriter out(bytes);
        ShardSlot::fields(out, slot);
        CHECK(out.ok());
        CHECK(written == golden[i].bytes);
    }
}

namespace {

/// Adds a file, or a part of one, with these pieces at their places.
void add_file(ReceiptWriter& writer, HashAlgorithm hash, const message::Entry& entry,
              const std::vector<std::pair<std::uint64_t, std::string>>& pieces) {
    writer.note(entry);
    FileDigest file(hash, entry.size);
    message::Extents extents{entry.index, {}};
    message::Digests digests{entry.index, 0, {}};
    for (const auto& [offset, content] : pieces) {
        Hasher hasher(hash);
        hasher.update(std::as_bytes(std::span(content)));
        digests.digests.push_back(hasher.finish());
        extents.extents.push_back({offset, content.size()});
        file.add(offset, content.size(), digests.digests.back());
    }
    if (!entry.whole) writer.note(extents);
    writer.note(digests);
    writer.note(message::FileEnd{entry.index, FileStatus::ok, file.finish()});
}

message::Entry entry(std::uint64_t index, EntryType type, std::vector<std::string> path, std::string target = {}) {
    message::Entry m;
    m.index = index;
    m.type = type;
    m.path = std::move(path);
    m.target = std::move(target);
    return m;
}

std::string written_receipt(const std::function<void(ReceiptWriter&)>& fill) {
    const test::TemporaryDirectory directory;
    const std::string path = (directory / "receipt").string();
    auto writer = ReceiptWriter::create(path);
    REQUIRE(writer);
    fill(**writer);
    REQUIRE((*writer)->finish([](const std::string&) { return UniqueFd(); }));
    return test::read_file(path);
}

}  // namespace

TEST_CASE("a receipt of 0.2 is read and written") {
    const std::string golden = test::golden_text("receipt.txt");
    const auto receipt = parse_receipt(golden);
    REQUIRE(receipt);
    CHECK(receipt->hash == HashAlgorithm::sha256);
    CHECK(receipt->entries.size() == 4);
    CHECK(receipt->entries[1].path == "d/name\n");
    CHECK(receipt->entries[1].pieces.at(1).length == 5);
    CHECK(receipt->entries[2].target == "../x\ty");
    CHECK(receipt->undelivered == std::vector<std::string>{"d/lost"});
    CHECK(written_receipt([](ReceiptWriter& writer) {
              message::Offer offer;
              offer.hash = HashAlgorithm::sha256;
              writer.note(offer);
              writer.note(entry(0, EntryType::directory, {"d"}));
              message::Entry file = entry(1, EntryType::file, {"d", "name\n"});
              file.size = kMiB + 5;
              file.whole = true;
              add_file(writer, offer.hash, file, {{0, std::string(kMiB, 'a')}, {kMiB, "bcdef"}});
              writer.note(entry(2, EntryType::symlink, {"l"}, "../x\ty"));
              writer.note(entry(3, EntryType::hard_link, {"d", "twin"}, "d/name\n"));
              message::Entry lost = entry(4, EntryType::file, {"d", "lost"});
              lost.size = 9;
              lost.whole = true;
              writer.note(lost);
              writer.note(message::FileFailed{4, 0, "d/lost", "disk"});
          }) == golden);
}

TEST_CASE("a receipt of a shard of 0.2 is read and written") {
    const std::string golden = test::golden_text("receipt-shard.txt");
    const auto receipt = parse_receipt(golden);
    REQUIRE(receipt);
    REQUIRE(receipt->shard);
    CHECK(receipt->shard->job == 0x0123456789abcdef);
    CHECK((receipt->shard->index == 1 && receipt->shard->count == 2 && receipt->shard->split == 42));
    CHECK(receipt->shard->run == 0xfedcba9876543210);
    CHECK(receipt->entries.at(0).part == FileRange{8 * kMiB, kMiB});
    CHECK(written_receipt([](ReceiptWriter& writer) {
              message::Offer offer;
              offer.shard.emplace();
              offer.shard->job = 0x0123456789abcdef;
              offer.shard->index = 1;
              offer.shard->count = 2;
              offer.shard->split = 42;
              writer.note(offer);
              message::Entry part = entry(0, EntryType::file, {"d", "cut"});
              part.size = 9 * kMiB;
              part.part = FileRange{8 * kMiB, kMiB};
              add_file(writer, offer.hash, part, {{8 * kMiB, std::string(kMiB, 'z')}});
              writer.note(message::Job{0xfedcba9876543210, 1, 0});
          }) == golden);
}
