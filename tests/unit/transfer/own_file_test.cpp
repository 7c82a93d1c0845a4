#include "transfer/file/occupant.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "as_ordinary_user.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/names.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

class Umask {
  public:
    explicit Umask(mode_t mask) : before_(::umask(mask)) {}
    ~Umask() { ::umask(before_); }
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;

  private:
    mode_t before_;
};

struct Bench {
    Bench() {
        fs::create_directories(temp / "root");
        write_file(temp / "precious", "precious");
    }
    [[nodiscard]] ConfinedDir root() const { return ConfinedDir::open((temp / "root").string()).value(); }
    TemporaryDirectory temp;
    fs::path own = temp / "root" / "own";
};

}  // namespace

TEST_CASE("a file of ours is created once, and opened after that") {
    const Bench b;
    for (int i = 0; i < 2; ++i) {
        int error = 0;
        const UniqueFd fd = open_own(b.root(), "own", error);
        REQUIRE(fd);
        CHECK(error == 0);
        CHECK(write_all_at(fd.get(), std::as_bytes(std::span("abc", 3)), 0) == 0);
    }
    CHECK(read_file(b.own) == "abc");
}

TEST_CASE("what was put in the place of a file of ours, and is another file as well, is neither used nor changed") {
    const Bench b;
    int expected = EPERM;
    SECTION("a hard link") {
        fs::create_hard_link(b.temp / "precious", b.own);
        expected = EMLINK;
    }
    SECTION("a symbolic link") {
        fs::create_symlink(b.temp / "precious", b.own);
        expected = ELOOP;
    }
    SECTION("a FIFO") { REQUIRE(::mkfifo(b.own.c_str(), 0600) == 0); }
    SECTION("a directory") {
        fs::create_directory(b.own);
        expected = EISDIR;
    }
    SECTION("another user's file") {
        if (::geteuid() != 0) return;  // only root can create one
        write_file(b.own, "theirs");
        REQUIRE(::chown(b.own.c_str(), 65534, 65534) == 0);
    }
    int error = 0;
    const UniqueFd fd = open_own(b.root(), "own", error);
    CHECK(error == expected);
    CHECK(static_cast<bool>(fd) == (expected == EMLINK));
    CHECK(read_file(b.temp / "precious") == "precious");
    CHECK(fs::exists(fs::symlink_status(b.own)));
}

TEST_CASE("our own files and directories have their rights whatever the umask is") {
    const Bench b;
    if (::geteuid() == 0) REQUIRE(::chown((b.temp / "root").c_str(), 65534, 65534) == 0);
    const AsOrdinaryUser user(b.temp.path());
    const Umask umask(GENERATE(0777, 0277, 0477, 0700));
    int error = 0;
    SECTION("a journal") {
        CHECK(open_own(b.root(), "own", error));
        CHECK((mode_of(b.own) & 0600) == 0600);
        CHECK(open_own(b.root(), "own", error));
    }
    SECTION("a journal that an earlier run made without rights") {
        if (::getuid() != ::geteuid()) return;  // /proc is closed to a process that changed its user
        {
            const UniqueFd made(::creat(b.own.c_str(), 0600));
            REQUIRE(made);
        }
        CHECK(open_own(b.root(), "own", error));
        CHECK(error == 0);
    }
    SECTION("a temporary file, which loses them when it is complete") {
        FileAttributes attributes;
        attributes.mode = 0666;
        auto file = TempFile::create(b.root(), "file", 7, attributes);
        REQUIRE(file);
        const fs::path temporary = b.temp / "root" / temp_name(7);
        CHECK((mode_of(temporary) & 0600) == 0600);
        file->rest();
        REQUIRE(file->reopen(b.root()));
        REQUIRE(file->complete(0, attributes, [](Belonging, int) { CHECK(false); }));
        const mode_t mask = ::umask(0);
        ::umask(mask);
        CHECK(mode_of(temporary) == (0666 & ~mask));
    }
    SECTION("directories above the destination") {
        const auto made = b.root().make_subdirectory("a/b/c");
        REQUIRE(made);
        CHECK(open_own(*made, "own", error));
    }
}

TEST_CASE("space that was reserved beyond the data is given back") {
    const Bench b;
    auto file = TempFile::create(b.root(), "file", 7, {});
    REQUIRE(file);
    REQUIRE(file->reserve(8U << 20U));
    REQUIRE(file->write(0, std::as_bytes(std::span("some data", 9))));
    const auto blocks = [&] {
        struct stat st = {};
        REQUIRE(::stat((b.temp / "root" / temp_name(7)).c_str(), &st) == 0);
        CHECK(st.st_size == 9);
        return st.st_blocks;
    };
    SECTION("while it is open") {}
    SECTION("after it was closed") { file->rest(); }
    file->give_back_space(b.root());
    CHECK(blocks() * 512 <= 64 << 10);
}

TEST_CASE("a journal with a second name is replaced, and what has that name stays as it is") {
    const Bench b;
    const std::string name = journal_name(0xabcdef);
    fs::create_hard_link(b.temp / "precious", b.temp / "root" / name);
    ResumeJournal::Opening opening(b.root(), 0xabcdef, HashAlgorithm::xxh3_128, [] {});
    std::optional<ResumeJournal::Opened> opened;
    for (int i = 0; i < 10 && !opened; ++i) opened = opening.attempt();
    REQUIRE(opened);
    REQUIRE(opened->journal);
    CHECK(opened->note.find("second name") != std::string::npos);
    opened->journal->begin_partial("big");
    opened->journal->flush();
    CHECK(read_file(b.temp / "precious") == "precious");
    CHECK(fs::file_size(b.temp / "root" / name) > 0);
}
