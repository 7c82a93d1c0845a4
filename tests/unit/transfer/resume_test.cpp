#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recording_report.hpp"
#include "test/catch.hpp"
#include "test/fault_case.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"
#include "transfer/source/inquiries.hpp"
#include "tree_writer_rig.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr std::uint64_t kPieces = 4;
constexpr std::uint64_t kSize = (kPieces - 1) * kPieceBytes + 1000;

std::vector<std::byte> content(std::uint64_t ordinal, std::uint8_t version = 0) {
    const std::uint64_t length = ordinal + 1 == kPieces ? kSize % kPieceBytes : kPieceBytes;
    std::vector<std::byte> out(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>((i * 7 + ordinal * 13 + version) % 251);
    return out;
}
Digest hash(std::span<const std::byte> bytes) {
    Hasher hasher(HashAlgorithm::xxh3_128);
    hasher.update(bytes);
    return hasher.finish();
}

/// Consecutive runs of a receiver's writer in the same directory.
struct Run {
    explicit Run(const TemporaryDirectory& where, bool by_digest = false) : temp(where) {
        journal = std::move(ResumeJournal::Opening(root(), 5, HashAlgorithm::xxh3_128, [] {}).attempt()->journal);
        offer.by_digest = by_digest;
        writer.emplace(root(), offer, options, TreeRun{.unique = 9, .journal = journal.get()}, report);
    }
    [[nodiscard]] ConfinedDir root() const {
        return ConfinedDir::open(temp.path().string()).value().make_subdirectory("").value();
    }

    message::Answer ask(const std::string& path, std::uint64_t size) {
        message::Answer all;
        const message::Query query{0, {path}, size, {1, 0}, 0644};
        const auto hear = [&](const message::Answer& answer) {
            all.has = answer.has;
            all.damaged += answer.damaged;
            all.pieces.insert(all.pieces.end(), answer.pieces.begin(), answer.pieces.end());
        };
        writer->holdings().answer(query, hear);
        while (writer->holdings().go_on(hear)) {
        }
        return all;
    }
    void begin(std::uint64_t size = kSize, std::uint64_t index = 0) {
        message::Entry entry;
        entry.index = index;
        entry.path = {"big"};
        entry.mode = 0644;
        entry.mtime = {1, 0};
        entry.size = size;
        writer->begin_entry(entry);
    }
    void send(std::uint64_t ordinal, std::uint8_t version = 0, std::uint64_t index = 0) {
        const auto bytes = content(ordinal, version);
        writer->files().write_piece({{index, ordinal, ordinal * kPieceBytes, bytes.size(), 0}, Chunk::copy_of(bytes)});
    }
    void keep(std::uint64_t ordinal) {
        writer->files().keep_pieces(0, {ordinal * kPieceBytes, content(ordinal).size()}, ordinal);
    }
    void end(const std::vector<std::uint8_t>& versions) {
        FileDigest digest(HashAlgorithm::xxh3_128, kSize);
        message::Digests digests;
        for (std::uint64_t i = 0; i < kPieces; ++i) {
            const auto bytes = content(i, versions[static_cast<std::size_t>(i)]);
            digests.digests.push_back(hash(bytes));
            digest.add(i * kPieceBytes, bytes.size(), digests.digests.back());
        }
        writer->files().check_digests(digests);
        writer->end_file({0, FileStatus::ok, digest.finish()}, kPieces);
    }
    void cut_off() {
        writer.reset();
        journal.reset();
    }

    const TemporaryDirectory& temp;
    message::Offer offer;
    LandingOptions options;
    std::unique_ptr<ResumeJournal> journal;
    RecordingReport report;
    std::vector<std::string>& delivered = report.delivered;
    std::vector<std::string>& failed = report.failures;
    std::uint64_t& kept = report.kept_bytes;
    std::optional<TreeWriter> writer;
};

void first_run(const TemporaryDirectory& temp, std::uint64_t pieces) {
    Run run(temp);
    run.begin();
    for (std::uint64_t i = 0; i < pieces; ++i) run.send(i);
    run.cut_off();
}

std::filesystem::path part_of(const TemporaryDirectory& temp) { return temp.path() / temp_name(temp_number(5, "big")); }
std::string file_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a file that was cut off is continued from the pieces that are on disk") {
    TemporaryDirectory temp;
    first_run(temp, 2);
    CHECK(std::filesystem::exists(part_of(temp)));
    CHECK_FALSE(std::filesystem::exists(temp / "big"));

    Run run(temp);
    const auto answer = run.ask("big", kSize);
    REQUIRE(answer.pieces.size() == 2);
    CHECK(answer.pieces[1].digest == hash(content(1)));
    run.begin();
    run.keep(0);
    run.keep(1);
    run.send(2, 1);
    run.send(3);
    run.end({0, 0, 1, 0});
    finish(*run.writer);
    CHECK(run.delivered == std::vector<std::string>{"big"});
    CHECK(run.kept == 2 * kPieceBytes);
    const std::string text = file_text(temp / "big");
    REQUIRE(text.size() == kSize);
    for (std::uint64_t i = 0; i < kPieces; ++i) {
        const auto wanted = content(i, i == 2 ? 1 : 0);
        CHECK(
            std::equal(wanted.begin(), wanted.end(), std::as_bytes(std::span(text)).subspan(i * kPieceBytes).begin()));
    }
    run.cut_off();
    CHECK(std::distance(std::filesystem::directory_iterator(temp.path()), {}) == 1);
}

TEST_CASE("another file of a name that is under way does not touch the first") {
    TemporaryDirectory temp;
    Run run(temp);
    run.begin();
    run.send(0);
    SECTION("that is being written") {
        run.begin(kSize, 1);
        CHECK(run.failed == std::vector<std::string>{"big"});
        run.send(0, 5, 1);
        for (std::uint64_t i = 1; i < kPieces; ++i) run.send(i);
        run.end({0, 0, 0, 0});
    }
    SECTION("that waits for its name") {
        for (std::uint64_t i = 1; i < kPieces; ++i) run.send(i);
        run.end({0, 0, 0, 0});
        run.begin(kSize, 1);
        run.send(0, 5, 1);
    }
    run.writer->abandon();
    CHECK(run.delivered == std::vector<std::string>{"big"});
    const std::string text = file_text(temp / "big");
    REQUIRE(text.size() == kSize);
    const auto first = content(0);
    CHECK(std::equal(first.begin(), first.end(), std::as_bytes(std::span(text)).begin()));
}

TEST_CASE("a name is free again when its file failed or has arrived") {
    TemporaryDirectory temp;
    Run run(temp);
    run.begin();
    run.writer->end_file({0, FileStatus::unreadable, {}}, 0);
    run.begin();
    for (std::uint64_t i = 0; i < kPieces; ++i) run.send(i);
    run.end({0, 0, 0, 0});
    finish(*run.writer);
    CHECK(run.delivered.size() == 1);
    run.begin(kSize, 1);
    CHECK(run.failed == std::vector<std::string>{"big"});  // the entry that could not be read
}

TEST_CASE("F58 a bit that flipped in the temporary file is found, and only its piece is fetched again") {
    TemporaryDirectory temp;
    first_run(temp, 3);
    {
        std::fstream file(part_of(temp), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(kPieceBytes + 77);
        file.put('\x7f');
    }
    Run run(temp);
    const auto answer = run.ask("big", kSize);
    CHECK(answer.damaged == 1);
    REQUIRE(answer.pieces.size() == 2);
    CHECK(answer.pieces[0].offset == 0);
    CHECK(answer.pieces[1].offset == 2 * kPieceBytes);
    SECTION("a sender that leaves the damaged piece out all the same does not get the file delivered") {
        run.begin();
        run.keep(1);
        CHECK(run.failed == std::vector<std::string>{"big"});
    }
    test::fault_case(58, "one changed bit in a partial file of 3 pieces: one piece is fetched again", answer.damaged,
                     " damaged, ", answer.pieces.size(), " of 3 kept");
}

TEST_CASE("a temporary file that is gone or cut short proves nothing") {
    TemporaryDirectory temp;
    first_run(temp, 3);
    SECTION("gone") {
        std::filesystem::remove(part_of(temp));
        CHECK(Run(temp).ask("big", kSize).damaged == 3);
    }
    SECTION("cut short") {
        std::filesystem::resize_file(part_of(temp), kPieceBytes + 5);
        CHECK(Run(temp).ask("big", kSize).pieces.size() == 1);
    }
}

TEST_CASE("a part that has become a hole reads as zeros when the file is continued") {
    TemporaryDirectory temp;
    first_run(temp, kPieces);
    Run run(temp);
    REQUIRE(run.ask("big", kSize).pieces.size() == kPieces);
    run.begin();
    run.keep(0);
    run.writer->files().make_hole(0, {kPieceBytes, kSize - kPieceBytes});
    FileDigest digest(HashAlgorithm::xxh3_128, kSize);
    digest.add(0, kPieceBytes, hash(content(0)));
    run.writer->files().check_digests({0, 0, {hash(content(0))}});
    run.writer->end_file({0, FileStatus::ok, digest.finish()}, 1);
    finish(*run.writer);
    const std::string text = file_text(temp / "big");
    REQUIRE(text.size() == kSize);
    CHECK(text.find_first_not_of('\0', kPieceBytes) == std::string::npos);
}

TEST_CASE("files that were delivered are left out while they are as they were delivered") {
    TemporaryDirectory temp;
    {
        Run run(temp);
        run.begin();
        for (std::uint64_t i = 0; i < kPieces; ++i) run.send(i);
        run.end({0, 0, 0, 0});
        run.cut_off();
    }
    REQUIRE(std::filesystem::exists(temp / "big"));
    SECTION("untouched") {
        Run run(temp);
        REQUIRE(run.ask("big", kSize).has == Holding::file);
        run.begin();
        run.writer->end_file({0, FileStatus::kept, {}}, 0);
        CHECK(run.delivered == std::vector<std::string>{"big"});
        CHECK(run.kept == kSize);
    }
    SECTION("untouched, and begun before the sender knew") {
        Run run(temp);
        run.begin();
        run.send(0);
        REQUIRE(run.ask("big", kSize).has == Holding::file);
        run.writer->end_file({0, FileStatus::kept, {}}, 1);
        CHECK(run.delivered == std::vector<std::string>{"big"});
        CHECK_FALSE(std::filesystem::exists(part_of(temp)));
    }
    SECTION("another size at the source: the blocks that lie alike can be compared") {
        const auto answer = Run(temp).ask("big", kSize + 1);
        CHECK(answer.has == Holding::last_pieces);
        CHECK(answer.pieces.size() == kPieces - 1);
    }
    SECTION("with a comparison by content, size and time do not say that it is the file of the source") {
        const auto answer = Run(temp, true).ask("big", kSize);
        CHECK(answer.has == Holding::all_pieces);
        CHECK(answer.pieces.size() == kPieces);
    }
    SECTION("altered since") {
        {
            std::fstream file(temp / "big", std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(9);
            file.put('\x7f');
        }
        const auto answer = Run(temp).ask("big", kSize);
        CHECK(answer.has == Holding::nothing);
        CHECK(answer.damaged == 1);
    }
    SECTION("left out by a sender that was not told so, while another file stands there") {
        fs::resize_file(temp / "big", kSize - 1);
        Run run(temp);
        run.begin();
        run.writer->end_file({0, FileStatus::kept, {}}, 0);
        CHECK(run.failed == std::vector<std::string>{"big"});
    }
}

TEST_CASE("an answer that nobody goes by is taken once, and not held") {
    ResumeAnswers answers;
    const message::Answer last{0, Holding::last_pieces, 0, {{0, 5, {}}}};
    for (const bool early : {false, true}) {
        message::Answer answer = last;
        answer.number = answers.ask();
        if (early) answers.forget(answer.number);
        REQUIRE(answers.add(answer).ok());
        if (!early) {
            CHECK(answers.held() > 0);
            answers.forget(answer.number);
        }
        CHECK(answers.held() == 0);
        CHECK_FALSE(answers.add(answer).ok());
    }
}

TEST_CASE("answers that nobody asked for break the protocol") {
    ResumeAnswers answers;
    CHECK_FALSE(answers.add({0, Holding::nothing, 0, {}}).ok());
    const auto query = answers.ask();
    CHECK(answers.add({query, Holding::pieces, 0, {{0, 5, {}}}}).ok());
    CHECK_FALSE(answers.answered(query));
    CHECK(answers.add({query, Holding::last_pieces, 0, {{5, 5, {}}}}).ok());
    CHECK_FALSE(answers.add({query, Holding::nothing, 0, {}}).ok());
    CHECK(answers.take(query).pieces.size() == 2);
    CHECK_FALSE(answers.add({query, Holding::nothing, 0, {}}).ok());
}
