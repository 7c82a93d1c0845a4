#include "as_ordinary_user.hpp"
#include "tree_writer_rig.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

using Rig = TreeWriterRig;

/// Lowers the limit on descriptors of this process.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t count) {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const rlimit few{count, before_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

  private:
    rlimit before_{};
};

/// Waits for the file, because a separate task commits a group.
void until_there(const fs::path& path) {
    for (int i = 0; i < 2000 && !fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    REQUIRE(fs::exists(path));
}

}  // namespace

TEST_CASE("a tree is written, committed and reported") {
    Rig rig;
    rig.entry(EntryType::directory, "d");
    rig.entry(EntryType::directory, "d/empty");
    rig.file("d/f", "content");
    rig.file("d/nothing", "");
    rig.entry(EntryType::symlink, "d/l", 0, "/etc/passwd");
    finish(*rig.writer);
    CHECK(rig.failed.empty());
    CHECK(rig.delivered.size() == 5);
    CHECK(read_file(rig.temp / "d/f") == "content");
    CHECK(fs::file_size(rig.temp / "d/nothing") == 0);
    CHECK(fs::is_directory(rig.temp / "d/empty"));
    CHECK(fs::read_symlink(rig.temp / "d/l") == "/etc/passwd");
    CHECK(count_files(rig.temp / "d") == 3);  // the link counts as its target; no temporary file is left
}

TEST_CASE("modes and times: exact with preserve, by the umask without, never set-id") {
    for (const bool preserve : {true, false}) {
        Rig rig(preserve);
        const mode_t old = ::umask(027);
        rig.mode = 04757;
        rig.entry(EntryType::directory, "d");
        rig.mode = 06757;
        rig.file("d/f", "x");
        finish(*rig.writer);
        ::umask(old);
        struct stat st = {};
        REQUIRE(::stat((rig.temp / "d/f").c_str(), &st) == 0);
        CHECK((st.st_mode & 07777U) == (preserve ? 0757U : 0750U));
        CHECK(st.st_mtim.tv_sec == 1'000'000'000);  // files always get their time
        CHECK(st.st_mtim.tv_nsec == 1);
        REQUIRE(::stat((rig.temp / "d").c_str(), &st) == 0);
        CHECK((st.st_mode & 07777U) == (preserve ? 0757U : 0750U));
        CHECK((st.st_mtim.tv_sec == 1'000'000'000) == preserve);
    }
}

TEST_CASE("a read-only directory is filled before it is closed") {
    Rig rig;
    rig.mode = 0555;
    rig.entry(EntryType::directory, "d");
    rig.mode = 0444;
    rig.file("d/f", "x");
    finish(*rig.writer);
    CHECK(rig.failed.empty());
    struct stat st = {};
    REQUIRE(::stat((rig.temp / "d").c_str(), &st) == 0);
    CHECK((st.st_mode & 0700U) == 0500U);
    ::chmod((rig.temp / "d").c_str(), 0700);
}

TEST_CASE("a directory that bars its owner takes files, and is as barred afterwards") {
    for (const unsigned variant : {0U, 1U, 2U, 3U}) {
        const bool preserve = (variant & 1U) != 0;
        const bool interrupted = (variant & 2U) != 0;
        Rig rig(preserve);
        const AsOrdinaryUser user(rig.temp.path());
        fs::create_directories(rig.temp / "d");
        ::chmod((rig.temp / "d").c_str(), 0511);  // as an earlier transfer with -p leaves it
        rig.mode = 0555;
        rig.entry(EntryType::directory, "d");
        rig.mode = 0444;
        rig.file("d/f", "x");
        rig.piece(rig.entry(EntryType::file, "d/g", 2), "yz");
        if (interrupted) {
            rig.writer->abandon();
        } else {
            finish(*rig.writer);
        }
        CHECK(mode_of(rig.temp / "d") == (preserve ? 0555U : 0511U));
        CHECK(mode_of(rig.temp / "d/f") == 0444U);
        // Without -p the directory is unchanged.
        CHECK(rig.delivered == (preserve ? std::vector<std::string>{"d", "d/f"} : std::vector<std::string>{"d/f"}));
        ::chmod((rig.temp / "d").c_str(), 0700);
        CHECK(count_files(rig.temp.path()) == 1);
    }
}

TEST_CASE("files whose rest is withheld do not use up the descriptors") {
    Rig rig;
    rig.mode = 0444;  // the file cannot be opened again for writing once it is complete
    const std::string first = random_content(1000, 1);
    const std::string second = random_content(1000, 2);
    constexpr std::uint64_t kFiles = 300;
    FileDigest digest(HashAlgorithm::xxh3_128, kPieceBytes + second.size());
    {
        const AsOrdinaryUser user(rig.temp.path());
        const FewDescriptors few(64);
        rig.writer.reset();
        rig.open();
        for (std::uint64_t i = 0; i < kFiles; ++i) {
            message::Entry m;
            m.index = i;
            m.path = {"f" + std::to_string(i)};
            m.mode = 0444;
            m.size = kPieceBytes + second.size();
            m.sparse = true;
            rig.writer->begin_entry(m);
            rig.writer->files().write_piece(
                {{i, 0, 0, first.size(), 0}, Chunk::copy_of(std::as_bytes(std::span(first)))});
        }
        CHECK(rig.failed.empty());
        digest.add(0, first.size(), Rig::hash(first));
        digest.add(kPieceBytes, second.size(), Rig::hash(second));
        const Digest whole = digest.finish();
        for (std::uint64_t i = 0; i < kFiles; ++i) {
            rig.writer->files().write_piece(
                {{i, 1, kPieceBytes, second.size(), 0}, Chunk::copy_of(std::as_bytes(std::span(second)))});
            rig.writer->files().check_digests({i, 0, {Rig::hash(first), Rig::hash(second)}});
            rig.writer->end_file({i, FileStatus::ok, whole}, 2);
        }
        finish(*rig.writer);
    }
    CHECK(rig.failed.empty());
    CHECK(rig.delivered.size() == kFiles);
    CHECK(read_file(rig.temp / "f7").substr(kPieceBytes) == second);
    CHECK(mode_of(rig.temp / "f7") == 0444U);
}

TEST_CASE("a temporary file that was swapped while it rested is not written") {
    const TemporaryDirectory temp;
    auto root = ConfinedDir::open(temp.path().string());
    auto file = TempFile::create(*root, "f", 1, {});
    REQUIRE(file.ok());
    file->rest();
    const fs::path name = temp / temp_name(1);
    SECTION("it is the same") { CHECK(file->reopen(*root).ok()); }
    SECTION("it is another") {
        write_file(temp / "other", "mine");
        fs::rename(temp / "other", name);
        CHECK_FALSE(file->reopen(*root).ok());
        CHECK(read_file(name) == "mine");
    }
    SECTION("it is gone") {
        fs::remove(name);
        CHECK_FALSE(file->reopen(*root).ok());
    }
}

TEST_CASE("what took the place of a temporary file gets no name of ours") {
    const TemporaryDirectory temp;
    auto root = ConfinedDir::open(temp.path().string());
    auto file = TempFile::create(*root, "f", 1, {});
    REQUIRE(file.ok());
    std::vector<CommitOrder> orders;
    orders.push_back(file->into_commit(0, 0, false));
    write_file(temp / "other", "evil");
    fs::rename(temp / "other", temp / temp_name(1));
    EntryClaims claims(*root);
    RecordingReport report;
    const CommittedBatch batch = commit_batch(*root, claims, orders, report);
    REQUIRE(batch.results.front().state == CommitState::failed);
    const std::string& why = batch.results.front().error->message;
    CHECK(why.find("took the place of 'f'") != std::string::npos);
    CHECK_FALSE(fs::exists(temp / "f"));
    CHECK(read_file(temp / temp_name(1)) == "evil");
}

TEST_CASE("a hard link leads to what came in its transfer only") {
    Rig rig;
    write_file(rig.temp / "another's", "secret");
    rig.file("a", "mine");
    rig.file("b", "mine");
    rig.entry(EntryType::hard_link, "to a", 0, "a");
    rig.entry(EntryType::hard_link, "to another's", 0, "another's");
    rig.entry(EntryType::hard_link, "to b", 0, "b");
    SECTION("each stands where it came") {
        finish(*rig.writer);
        CHECK(rig.failed == std::vector<std::string>{"to another's"});
        CHECK(read_file(rig.temp / "to b") == "mine");
    }
    SECTION("another's took a name since") {
        until_there(rig.temp / "b");
        fs::rename(rig.temp / "another's", rig.temp / "b");
        finish(*rig.writer);
        CHECK(rig.failed == std::vector<std::string>{"to another's", "to b"});
    }
    CHECK(read_file(rig.temp / "to a") == "mine");
    CHECK_FALSE(fs::exists(rig.temp / "to another's"));
}

TEST_CASE("nothing has its final name before the commit, and an abandoned file leaves nothing") {
    Rig rig;
    const std::uint64_t index = rig.entry(EntryType::file, "f", 7);
    rig.piece(index, "content");
    CHECK_FALSE(fs::exists(rig.temp / "f"));
    CHECK(count_files(rig.temp.path()) == 1);
    rig.file("g", "complete");
    rig.writer->abandon();
    CHECK_FALSE(fs::exists(rig.temp / "f"));
    CHECK(read_file(rig.temp / "g") == "complete");
    CHECK(count_files(rig.temp.path()) == 1);
    CHECK(rig.delivered == std::vector<std::string>{"g"});
}

TEST_CASE("altered, changed and incomplete files fail and keep what was there before") {
    Rig rig;
    for (const char* name : {"altered", "changed", "short"}) write_file(rig.temp / name, "before");
    const std::uint64_t altered = rig.entry(EntryType::file, "altered", 3);
    rig.piece(altered, "abc");
    rig.digests(altered, "abd");
    rig.end(altered, "abd");
    const std::uint64_t changed = rig.entry(EntryType::file, "changed", 3);
    rig.piece(changed, "abc");
    rig.end(changed, "abc", FileStatus::changed);
    const std::uint64_t incomplete = rig.entry(EntryType::file, "short", 3);
    rig.end(incomplete, "abc");
    rig.file("fine", "fine");
    finish(*rig.writer);
    CHECK(rig.failed == std::vector<std::string>{"altered", "changed", "short"});
    CHECK(rig.codes == std::vector<ErrorCode>{ErrorCode::integrity, ErrorCode::not_sent, ErrorCode::protocol});
    for (const char* name : {"altered", "changed", "short"}) CHECK(read_file(rig.temp / name) == "before");
    CHECK(rig.delivered == std::vector<std::string>{"fine"});
    CHECK(count_files(rig.temp.path()) == 4);
}

TEST_CASE("links and FIFOs in the way are replaced or refused, never followed") {
    Rig rig;
    const TemporaryDirectory outside;
    write_file(outside / "canary", "alive");
    fs::create_symlink(outside / "canary", rig.temp / "leaf");
    fs::create_symlink(outside.path(), rig.temp / "dir");
    REQUIRE(::mkfifo((rig.temp / "fifo").c_str(), 0600) == 0);
    rig.file("leaf", "new");
    rig.file("fifo", "new");
    rig.file("dir/file", "escaped");
    rig.entry(EntryType::directory, "dir");
    rig.entry(EntryType::directory, "dir/sub");
    rig.entry(EntryType::symlink, "dir/link", 0, "x");
    // A link that the transfer itself creates, and a file below it.
    rig.entry(EntryType::symlink, "sent", 0, outside.path().string());
    rig.file("sent/file", "escaped");
    finish(*rig.writer);
    CHECK(read_file(outside / "canary") == "alive");
    CHECK(count_files(outside.path()) == 1);
    CHECK(read_file(rig.temp / "leaf") == "new");
    CHECK_FALSE(fs::is_symlink(rig.temp / "leaf"));
    CHECK(fs::is_regular_file(rig.temp / "fifo"));
    // Our directory replaced the link before any file could be written through it.
    CHECK(fs::is_directory(fs::symlink_status(rig.temp / "dir")));
    CHECK(fs::is_directory(rig.temp / "dir/sub"));
    CHECK(rig.failed == std::vector<std::string>{"dir/file", "sent/file"});
}

TEST_CASE("a file takes the place of an empty directory, and not of one with something in it") {
    Rig rig;
    fs::create_directories(rig.temp / "empty");
    fs::create_directories(rig.temp / "full");
    write_file(rig.temp / "full/theirs", "theirs");
    rig.file("empty", "x");
    rig.file("full", "x");
    rig.entry(EntryType::symlink, "full", 0, "empty");
    finish(*rig.writer);
    CHECK(read_file(rig.temp / "empty") == "x");
    CHECK(rig.failed == std::vector<std::string>{"full", "full"});
    CHECK(rig.codes == std::vector<ErrorCode>{ErrorCode::refused, ErrorCode::refused});
    CHECK(count_files(rig.temp.path()) == 2);
}

TEST_CASE("a sparse file keeps its holes and its size") {
    Rig rig;
    message::Entry m;
    m.path = {"sparse"};
    m.mode = 0644;
    m.size = 1ULL << 33U;
    m.sparse = true;
    rig.writer->begin_entry(m);
    const std::string content = random_content(4096, 1);
    const std::uint64_t at = 1ULL << 32U;
    rig.writer->files().write_piece({{0, 0, at, content.size(), 0}, Chunk::copy_of(std::as_bytes(std::span(content)))});
    rig.writer->files().check_digests({0, 0, {Rig::hash(content)}});
    FileDigest digest(HashAlgorithm::xxh3_128, m.size);
    digest.add(at, content.size(), Rig::hash(content));
    rig.writer->end_file({0, FileStatus::ok, digest.finish()}, 1);
    finish(*rig.writer);
    struct stat st = {};
    REQUIRE(::stat((rig.temp / "sparse").c_str(), &st) == 0);
    CHECK(static_cast<std::uint64_t>(st.st_size) == m.size);
    CHECK(st.st_blocks < 1024);
}

TEST_CASE("many small files are committed in groups and all arrive") {
    Rig rig;
    for (int i = 0; i < 3000; ++i) rig.file("f" + std::to_string(i), std::to_string(i));
    finish(*rig.writer);
    CHECK(rig.delivered.size() == 3000);
    CHECK(read_file(rig.temp / "f2999") == "2999");
    CHECK(count_files(rig.temp.path()) == 3000);
}
