#include "transfer/landing/file_builder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "target_tree_rig.hpp"
#include "test/catch.hpp"
#include "transfer/checksum.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/file/pieces.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr HashAlgorithm kIncomingHash = HashAlgorithm::xxh3_128;

struct BuilderRig : TargetTreeRig {
    explicit BuilderRig(const TreeSetup& how = {}) : TargetTreeRig(how), holdings(*tree), files(*tree, holdings) {}

    std::uint64_t begin(const std::string& path, std::uint64_t size) {
        message::Entry m = entry(EntryType::file, path);
        m.size = size;
        files.begin(m, path);
        return m.index;
    }
    static Digest hash(const std::string& text) {
        Hasher hasher(kIncomingHash);
        hasher.update(std::as_bytes(std::span(text)));
        return hasher.finish();
    }
    void piece(std::uint64_t index, std::uint64_t ordinal, const std::string& content) {
        files.write_piece({{index, ordinal, ordinal * kPieceBytes, content.size(), 0},
                           Chunk::copy_of(std::as_bytes(std::span(content)))});
    }
    void end(std::uint64_t index, const std::vector<std::string>& pieces, FileStatus status = FileStatus::ok) {
        std::uint64_t size = 0;
        for (const std::string& content : pieces) size += content.size();
        FileDigest digest(kIncomingHash, size);
        std::uint64_t offset = 0;
        for (const std::string& content : pieces) {
            digest.add(offset, content.size(), hash(content));
            offset += content.size();
        }
        files.end({index, status, digest.finish()}, pieces.size());
        tree->flush();
    }

    Holdings holdings;
    IncomingFiles files;
};

/// The second of two shards runs again after its part of a file was filled. The first one fills the rest meanwhile.
struct SharedFileRig {
    SharedFileRig() {
        const TreeRun run{.journal = journal.get(), .job = again.get()};
        rig = std::make_unique<BuilderRig>(TreeSetup{.run = run});
        const std::string temporary = rig->temp / temp_name(again->temporary_for("f"));
        write_file(temporary, content);
        fs::permissions(temporary, fs::perms(0600));
        const auto open = [](bool) -> Result<JobFile::Opened> { return JobFile::Opened{true}; };
        REQUIRE(again->begin(version, open));
        REQUIRE(again->fill(version, tail, {proven(1), proven(2)}, {}));
    }
    [[nodiscard]] std::unique_ptr<JobFile> shard(std::size_t index) const {
        return JobFile::open(root(), {5, index, 2, 1}, kIncomingHash, 3).value();
    }
    [[nodiscard]] ConfinedDir root() const { return ConfinedDir::open(records.path().string()).value(); }
    [[nodiscard]] std::string piece(std::uint64_t ordinal) const {
        return content.substr(static_cast<std::size_t>(ordinal * kPieceBytes), kPieceBytes);
    }
    [[nodiscard]] ProvenPiece proven(std::uint64_t ordinal) const {
        return {ordinal * kPieceBytes, kPieceBytes, BuilderRig::hash(piece(ordinal))};
    }
    /// The answer proves both pieces of the second shard's part.
    void ask() {
        const message::Query query{
            .path = {"f"}, .size = version.size, .mtime = version.mtime, .mode = 0644, .part = tail};
        message::Answer answer;
        const auto reply = [&](message::Answer said) { answer = std::move(said); };
        rig->holdings.answer(query, reply);
        while (rig->holdings.go_on(reply)) {
        }
        REQUIRE(answer.pieces.size() == 2);
    }
    /// The first shard fills its part.
    void fill() { CHECK(other->fill(version, {0, kPieceBytes}, {proven(0)}, {}).value() == true); }
    /// It gives the file its name, and records that if it is not killed before.
    void name(bool records_it) {
        const std::string final_name = rig->temp / "f";
        fs::rename(rig->temp / temp_name(again->temporary_for("f")), final_name);
        set_time(final_name);
        if (records_it) other->named("f");
    }
    void set_time(const std::string& name) const {
        const struct timespec at[2] = {{version.mtime.seconds, 0}, {version.mtime.seconds, 0}};
        REQUIRE(::utimensat(AT_FDCWD, name.c_str(), static_cast<const struct timespec*>(at), 0) == 0);
    }
    std::uint64_t begin() {
        message::Entry m = rig->entry(EntryType::file, "f");
        m.mode = 0644;
        m.size = version.size;
        m.part = tail;
        rig->files.begin(m, "f");
        return m.index;
    }
    /// Sends a piece of the part.
    void send(std::uint64_t index, std::uint64_t ordinal, const std::string& bytes) {
        rig->files.write_piece({{index, ordinal, tail.offset + ordinal * kPieceBytes, bytes.size(), 0},
                                Chunk::copy_of(std::as_bytes(std::span(bytes)))});
    }
    void end(std::uint64_t index) {
        FileDigest digest(kIncomingHash, version.size);
        for (const std::uint64_t i : {1, 2}) digest.add(i * kPieceBytes, kPieceBytes, rig->hash(piece(i)));
        rig->files.check_digests({index, 0, {rig->hash(piece(1)), rig->hash(piece(2))}});
        rig->files.end({index, FileStatus::ok, digest.finish()}, 2);
        rig->tree->flush();
    }
    /// The destination has the file with all its bytes and its time, and only that.
    void check_delivered() const {
        CHECK(rig->failed.empty());
        CHECK(rig->delivered == std::vector<std::string>{"f"});
        CHECK(read_file(rig->temp / "f") == content);
        CHECK(count_files(rig->temp.path()) == 1);
        struct stat st = {};
        REQUIRE(::stat((rig->temp / "f").c_str(), &st) == 0);
        CHECK(st.st_mtime == version.mtime.seconds);
    }

    TemporaryDirectory records;
    std::string content = random_content(3 * kPieceBytes, 1);
    JobFile::Version version{"f", 3 * kPieceBytes, {1'000'000'000, 0}};
    FileRange tail{kPieceBytes, 2 * kPieceBytes};
    std::unique_ptr<ResumeJournal> journal =
        std::move(ResumeJournal::Opening(root(), 7, kIncomingHash, [] {}).attempt()->journal);
    std::unique_ptr<JobFile> other = shard(0);
    std::unique_ptr<JobFile> again = shard(1);
    std::unique_ptr<BuilderRig> rig;
};

}  // namespace

TEST_CASE("a part that an answer has reported stays delivered when another shard completes the file meanwhile") {
    SharedFileRig shared;
    BuilderRig& rig = *shared.rig;
    shared.ask();
    shared.fill();
    const bool recorded = GENERATE(true, false);
    SECTION("nothing is sent") {
        shared.name(recorded);
        const std::uint64_t f = shared.begin();
        rig.files.keep_pieces(f, {kPieceBytes, 2 * kPieceBytes}, 0);
        shared.end(f);
        shared.check_delivered();
    }
    SECTION("the first piece was sent before the answer") {
        shared.name(recorded);
        const std::uint64_t f = shared.begin();
        shared.send(f, 0, shared.piece(1));
        rig.files.keep_pieces(f, {2 * kPieceBytes, kPieceBytes}, 1);
        shared.end(f);
        shared.check_delivered();
    }
    SECTION("it is completed when this shard has opened it") {
        const std::uint64_t f = shared.begin();
        rig.files.keep_pieces(f, {kPieceBytes, kPieceBytes}, 0);
        shared.name(recorded);
        shared.send(f, 1, shared.piece(2));
        shared.end(f);
        shared.check_delivered();
    }
    if (!recorded) shared.other->named("f");
    CHECK((*shared.other->state()).waiting == 0);
}

TEST_CASE("a part of a file that another shard has completed has to be in it") {
    SharedFileRig shared;
    BuilderRig& rig = *shared.rig;
    shared.ask();
    shared.fill();
    shared.name(true);
    SECTION("another piece is sent") {
        const std::uint64_t f = shared.begin();
        shared.send(f, 0, shared.piece(2));
    }
    SECTION("a hole is sent") { rig.files.make_hole(shared.begin(), {2 * kPieceBytes, kPieceBytes}); }
    SECTION("a piece was changed there since then") {
        write_file(rig.temp / "f", shared.piece(0) + shared.piece(2) + shared.piece(2));
        shared.content = read_file(rig.temp / "f");
        shared.set_time(rig.temp / "f");
        rig.files.keep_pieces(shared.begin(), {kPieceBytes, kPieceBytes}, 0);
    }
    CHECK(rig.failed == std::vector<std::string>{"f"});
    CHECK(rig.codes == std::vector<ErrorCode>{ErrorCode::refused});
    CHECK(read_file(rig.temp / "f") == shared.content);
    CHECK(count_files(rig.temp.path()) == 1);
    CHECK((*shared.other->state()).waiting == 0);
}

TEST_CASE("pieces, digests and the end of a file come in any order, and it has its name after the last of them") {
    const std::string first = random_content(kPieceBytes, 1);
    const std::string second = "tail";
    BuilderRig rig;
    const std::uint64_t f = rig.begin("f", first.size() + second.size());
    CHECK(rig.files.path_of(f) == "f");
    rig.piece(f, 1, second);
    rig.end(f, {first, second});
    rig.files.check_digests({f, 0, {rig.hash(first), rig.hash(second)}});
    CHECK_FALSE(fs::exists(rig.temp / "f"));
    CHECK(rig.files.held() > 0);
    rig.piece(f, 0, first);
    rig.tree->flush();
    CHECK(rig.delivered == std::vector<std::string>{"f"});
    CHECK(read_file(rig.temp / "f") == first + second);
    CHECK(rig.files.path_of(f).empty());
    CHECK(rig.files.held() == 0);
    CHECK(rig.files.written() == first.size() + second.size());
    CHECK_FALSE(rig.files.fail_next());
}

TEST_CASE("owner and attributes that come after the only piece of a file are set") {
    BuilderRig rig({.offer = {.preserve = true, .destination = {}, .owner = true}});
    const std::string content = "x";
    message::Entry m = rig.entry(EntryType::file, "f");
    m.size = content.size();
    m.mode = 0400;  // an ordinary user could not set attributes once the file has it
    m.whole = true;
    rig.files.begin(m, "f");
    rig.piece(m.index, 0, content);
    // Only root may give a file away.
    const Owner owner = ::geteuid() == 0 ? Owner{12345, 12346} : Owner{::geteuid(), ::getegid()};
    rig.files.set_meta({.index = m.index,
                        .has_owner = true,
                        .has_attributes = true,
                        .user = owner.user,
                        .group = owner.group,
                        .attributes = {{"user.note", "1"}}});
    rig.files.check_digests({m.index, 0, {rig.hash(content)}});
    rig.end(m.index, {content});
    struct stat st = {};
    REQUIRE(::stat((rig.temp / "f").c_str(), &st) == 0);
    CHECK((st.st_uid == owner.user && st.st_gid == owner.group));
    CHECK((st.st_mode & 0777) == 0400);
    std::vector<message::Attribute> attributes;
    const UniqueFd fd(::open((rig.temp / "f").c_str(), O_RDONLY | O_CLOEXEC));
    static_cast<void>(read_attributes(fd.get(), attributes));
    // Some file systems have none.
    CHECK((attributes.size() == 1 || !rig.report.unset.empty()));
}

TEST_CASE("a file that is not what was sent fails, and what stood under its name stays") {
    BuilderRig rig;
    write_file(rig.temp / "f", "older");
    const std::uint64_t f = rig.begin("f", 3);
    rig.piece(f, 0, "new");
    SECTION("a piece is altered") {
        rig.files.check_digests({f, 0, {rig.hash("mew")}});
        rig.end(f, {"new"});
    }
    SECTION("the file is another one") {
        rig.files.check_digests({f, 0, {rig.hash("new")}});
        rig.end(f, {"mew"});
    }
    REQUIRE(rig.failed == std::vector<std::string>{"f"});
    CHECK(rig.codes.front() == ErrorCode::integrity);
    CHECK(read_file(rig.temp / "f") == "older");
    CHECK(count_files(rig.temp.path()) == 1);
    CHECK(rig.files.held() == 0);
}

TEST_CASE("a file that the sender could not read to its end fails, and so does one whose rest does not come") {
    BuilderRig rig;
    const std::uint64_t changed = rig.begin("changed", 3);
    rig.piece(changed, 0, "new");
    rig.end(changed, {"new"}, FileStatus::changed);
    rig.piece(rig.begin("cut", 3), 0, "new");
    CHECK(rig.files.fail_next());
    CHECK_FALSE(rig.files.fail_next());
    CHECK(rig.failed == std::vector<std::string>{"changed", "cut"});
    CHECK(rig.codes == std::vector<ErrorCode>{ErrorCode::not_sent, ErrorCode::protocol});
    CHECK(count_files(rig.temp.path()) == 0);
}

TEST_CASE("what was left out has to be there") {
    BuilderRig rig;
    const std::uint64_t whole = rig.begin("whole", 3);
    rig.end(whole, {}, FileStatus::kept);
    const std::uint64_t piece = rig.begin("piece", kPieceBytes);
    rig.files.keep_pieces(piece, {0, kPieceBytes}, 0);
    CHECK(rig.failed == std::vector<std::string>{"whole", "piece"});
    CHECK(rig.codes == std::vector<ErrorCode>{ErrorCode::protocol, ErrorCode::protocol});
    write_file(rig.temp / "there", "content");
    message::Entry m = rig.entry(EntryType::file, "there");
    m.size = 7;
    fs::last_write_time(rig.temp / "there", fs::file_time_type::clock::from_sys(
                                                std::chrono::sys_seconds(std::chrono::seconds(m.mtime.seconds))));
    rig.files.begin(m, "there");
    CHECK(rig.files.end({m.index, FileStatus::kept, {}}, 0) == "there");
    CHECK(rig.failed.size() == 2);
}

TEST_CASE("what the sender gives up is no failure where that was told before") {
    BuilderRig rig;
    fs::create_directories(rig.temp / "directory/full");
    rig.end(rig.begin("directory", 3), {}, FileStatus::skipped);
    CHECK(rig.failed.empty());
    rig.end(rig.begin("free", 3), {}, FileStatus::skipped);
    CHECK(rig.failed == std::vector<std::string>{"free"});
}

TEST_CASE("a name cannot be under way twice") {
    BuilderRig rig;
    const std::uint64_t f = rig.begin("f", 3);
    rig.begin("f", 3);
    CHECK(rig.failed == std::vector<std::string>{"f"});
    rig.piece(f, 0, "new");
    rig.files.check_digests({f, 0, {rig.hash("new")}});
    rig.end(f, {"new"});
    CHECK(rig.delivered == std::vector<std::string>{"f"});
}

TEST_CASE("a sender does not make us remember more than it finishes") {
    BuilderRig rig;
    const std::uint64_t f = rig.begin("f", 1ULL << 50U);
    std::uint64_t digests = 0;
    constexpr std::uint64_t kMost = 64ULL << 20U;
    for (; rig.failed.empty() && digests < kMost; digests += 1000) {
        CHECK(rig.files.held() <= kMost);
        rig.files.check_digests({f, digests, std::vector<Digest>(1000, rig.hash("x"))});
    }
    CHECK(digests < kMost / 16);
    REQUIRE(rig.failed == std::vector<std::string>{"f"});
    CHECK(rig.codes.front() == ErrorCode::refused);
    CHECK(rig.files.held() == 0);
}

TEST_CASE("files that are given up leave nothing where no run continues them") {
    BuilderRig rig;
    rig.piece(rig.begin("small", 3), 0, "new");
    rig.piece(rig.begin("long", 2 * kPieceBytes), 0, random_content(kPieceBytes, 2));
    CHECK(count_files(rig.temp.path()) >= 1);
    rig.files.abandon();
    rig.files.clear();
    CHECK(count_files(rig.temp.path()) == 0);
    CHECK(rig.files.held() == 0);
    CHECK(rig.failed.empty());
}
