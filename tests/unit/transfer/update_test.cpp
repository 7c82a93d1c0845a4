// A tree writer that finds existing files at the receiver.
#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"
#include "tree_writer_rig.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr std::uint64_t kUpdateSize = 2 * kPieceBytes + 1000;
constexpr FileTime kTime{1'000'000'000, 1};

std::string block(std::uint64_t ordinal, char fill) {
    return std::string(static_cast<std::size_t>(ordinal < 2 ? kPieceBytes : 1000), fill);
}
Digest hash(const std::string& text) {
    Hasher hasher(HashAlgorithm::xxh3_128);
    hasher.update(std::as_bytes(std::span(text)));
    return hasher.finish();
}
struct stat state_of(const fs::path& path) {
    struct stat st = {};
    REQUIRE(::lstat(path.c_str(), &st) == 0);
    return st;
}

struct UpdateRig {
    explicit UpdateRig(message::Offer asked = {}) : offer(std::move(asked)) {
        writer.emplace(ConfinedDir::open(temp.path().string()).value(), offer, options, TreeRun(), report);
    }
    message::Answer ask(const std::string& path, std::uint64_t size, const FileTime& mtime = kTime) {
        message::Answer all;
        const message::Query query{0, split_path(path), size, mtime, 0600};
        const auto hear = [&](const message::Answer& answer) {
            all.has = answer.has;
            all.pieces.insert(all.pieces.end(), answer.pieces.begin(), answer.pieces.end());
        };
        writer->holdings().answer(query, hear);
        while (writer->holdings().go_on(hear)) {
        }
        return all;
    }
    void begin(const std::string& path, std::uint64_t size, bool whole = false) {
        message::Entry entry;
        entry.path = split_path(path);
        entry.mode = 0644;
        entry.mtime = kTime;
        entry.size = size;
        entry.whole = whole;
        writer->begin_entry(entry);
    }
    void send(std::uint64_t offset, std::uint64_t ordinal, const std::string& bytes) {
        writer->files().write_piece(
            {{0, ordinal, offset, bytes.size(), 0}, Chunk::copy_of(std::as_bytes(std::span(bytes)))});
    }
    void end(const std::vector<std::string>& blocks) {
        std::uint64_t size = 0;
        for (const std::string& b : blocks) size += b.size();
        FileDigest digest(HashAlgorithm::xxh3_128, size);
        message::Digests digests;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            digests.digests.push_back(hash(blocks[i]));
            digest.add(i * kPieceBytes, blocks[i].size(), digests.digests.back());
        }
        writer->files().check_digests(digests);
        writer->end_file({0, FileStatus::ok, digest.finish()}, blocks.size());
    }

    TemporaryDirectory temp;
    message::Offer offer;
    LandingOptions options;
    RecordingReport report;
    std::vector<std::string>& delivered = report.delivered;
    std::vector<std::string>& failed = report.failures;
    int& unchanged = report.unchanged;
    int& skipped = report.skipped;
    std::optional<TreeWriter> writer;
};

}  // namespace

TEST_CASE("of a changed file only the blocks that differ are needed") {
    UpdateRig rig;
    write_file(rig.temp / "f", block(0, 'a') + block(1, 'b') + block(2, 'c'));
    const auto answer = rig.ask("f", kUpdateSize);
    REQUIRE(answer.has == Holding::all_pieces);
    REQUIRE(answer.pieces.size() == 3);
    CHECK(answer.pieces[1].digest == hash(block(1, 'b')));
    rig.begin("f", kUpdateSize);
    SECTION("the others are taken from the older version") {
        rig.writer->files().keep_pieces(0, {0, kPieceBytes}, 0);
        rig.send(kPieceBytes, 1, block(1, 'x'));
        rig.writer->files().keep_pieces(0, {2 * kPieceBytes, 1000}, 2);
        rig.end({block(0, 'a'), block(1, 'x'), block(2, 'c')});
        finish(*rig.writer);
        CHECK(rig.delivered == std::vector<std::string>{"f"});
        CHECK(read_file(rig.temp / "f") == block(0, 'a') + block(1, 'x') + block(2, 'c'));
        CHECK(count_files(rig.temp.path()) == 1);
    }
    SECTION("also where the new one ends earlier, and has a hole") {
        UpdateRig shorter;
        write_file(shorter.temp / "f", block(0, 'a') + block(1, 'b') + block(2, 'c'));
        CHECK(shorter.ask("f", 2 * kPieceBytes).has == Holding::last_pieces);
        shorter.begin("f", 2 * kPieceBytes);
        shorter.writer->files().make_hole(0, {0, kPieceBytes});
        shorter.writer->files().keep_pieces(0, {kPieceBytes, kPieceBytes}, 0);
        FileDigest digest(HashAlgorithm::xxh3_128, 2 * kPieceBytes);
        digest.add(kPieceBytes, kPieceBytes, hash(block(1, 'b')));
        shorter.writer->files().check_digests({0, 0, {hash(block(1, 'b'))}});
        shorter.writer->end_file({0, FileStatus::ok, digest.finish()}, 1);
        finish(*shorter.writer);
        CHECK(read_file(shorter.temp / "f") == block(0, '\0') + block(1, 'b'));
    }
    SECTION("a block that was not answered is not to be left out") {
        rig.writer->files().keep_pieces(0, {kPieceBytes / 2, kPieceBytes / 2}, 0);
        CHECK(rig.failed == std::vector<std::string>{"f"});
    }
    SECTION("an older version that changes meanwhile is not copied") {
        write_file(rig.temp / "f", block(0, 'z') + block(1, 'b'));
        rig.writer->files().keep_pieces(0, {0, kPieceBytes}, 0);
        CHECK(rig.failed == std::vector<std::string>{"f"});
        CHECK(read_file(rig.temp / "f").front() == 'z');
    }
    SECTION("all of it: only the time is set") {
        const auto before = state_of(rig.temp / "f").st_ino;
        rig.writer->end_file({0, FileStatus::kept, {}}, 0);
        CHECK(rig.unchanged == 1);
        CHECK(state_of(rig.temp / "f").st_ino == before);
        CHECK(state_of(rig.temp / "f").st_mtim.tv_sec == 1'000'000'000);
        CHECK(rig.ask("f", kUpdateSize).has == Holding::same);
        CHECK(rig.ask("f", kUpdateSize + 1).has == Holding::last_pieces);
    }
}

TEST_CASE("--overwrite: never leaves what stands there, always looks at nothing") {
    SECTION("never") {
        UpdateRig rig({.destination = {}, .overwrite = Overwrite::never});
        write_file(rig.temp / "f", "theirs");
        CHECK(rig.ask("f", 6).has == Holding::exists);
        CHECK(rig.ask("g", 6).has == Holding::nothing);
        CHECK(rig.skipped == 1);
        write_file(rig.temp / "h", "theirs");
        rig.begin("h", 4, true);  // the sender did not ask before
        rig.send(0, 0, "ours");
        rig.end({"ours"});
        rig.begin("f", 4, true);  // the sender asked; it counted as skipped with the answer
        rig.send(1, 0, "ours");
        rig.end({"ours"});
        finish(*rig.writer);
        CHECK(rig.skipped == 2);
        CHECK(rig.ask("f/below", 6).has == Holding::exists);  // f is a directory at the sender
        CHECK(rig.delivered.empty());
        CHECK(read_file(rig.temp / "f") == "theirs");
        CHECK(read_file(rig.temp / "h") == "theirs");
        CHECK(count_files(rig.temp.path()) == 2);
    }
    SECTION("never, and the name appears while the file arrives") {
        UpdateRig rig({.destination = {}, .overwrite = Overwrite::never});
        rig.begin("k", 4, true);
        rig.send(0, 0, "ours");
        write_file(rig.temp / "k", "theirs");
        rig.end({"ours"});
        finish(*rig.writer);
        CHECK(rig.failed.empty());
        CHECK(rig.skipped == 1);
        CHECK(read_file(rig.temp / "k") == "theirs");
        CHECK(count_files(rig.temp.path()) == 1);
    }
    SECTION("always") {
        UpdateRig rig({.destination = {}, .overwrite = Overwrite::always});
        write_file(rig.temp / "f", "theirs");
        CHECK(rig.ask("f", 6).has == Holding::nothing);
    }
    SECTION("a link is not what a file is compared with") {
        UpdateRig rig;
        write_file(rig.temp / "f", "theirs");
        fs::create_symlink("f", rig.temp / "l");
        CHECK(rig.ask("l", 6).has == Holding::nothing);
    }
}

TEST_CASE("hard links are made when what they lead to has its name") {
    UpdateRig rig;
    message::Entry link;
    link.index = 1;
    link.type = EntryType::hard_link;
    link.path = {"twin"};
    link.target = "f";
    rig.writer->begin_entry(link);
    link.index = 2;
    link.path = {"lost"};
    link.target = "nothing";
    rig.writer->begin_entry(link);
    link.index = 3;
    link.target = "../f";
    rig.writer->begin_entry(link);
    rig.begin("f", 4, true);
    rig.send(0, 0, "ours");
    rig.end({"ours"});
    finish(*rig.writer);
    CHECK(state_of(rig.temp / "twin").st_ino == state_of(rig.temp / "f").st_ino);
    CHECK(rig.delivered == std::vector<std::string>{"f", "twin"});
    CHECK(rig.failed == std::vector<std::string>{"lost", "lost"});
    CHECK(count_files(rig.temp.path()) == 2);
}

TEST_CASE("zeros become holes when they are to") {
    UpdateRig rig({.destination = {}, .sparse = true});
    const std::string text = std::string(500'000, '\0') + "x" + std::string(400'000, '\0');
    rig.begin("f", text.size(), true);
    rig.send(0, 0, text);
    rig.end({text});
    finish(*rig.writer);
    CHECK(read_file(rig.temp / "f") == text);
    CHECK(state_of(rig.temp / "f").st_blocks * 512 < 100'000);
}
