#include "transfer/landing/temp_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/names.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr std::uint64_t kUnique = 7;

struct Bench {
    Bench() {
        fs::create_directories(temp / "root");
        write_file(temp / "precious", "precious");
    }
    [[nodiscard]] Result<TempFile> adopt() const { return TempFile::adopt(*root(), "file", kUnique); }
    [[nodiscard]] Result<ConfinedDir> root() const { return ConfinedDir::open((temp / "root").string()); }

    TemporaryDirectory temp;
    fs::path part = temp / "root" / temp_name(kUnique);
};

}  // namespace

TEST_CASE("A part of an earlier run is taken up") {
    const Bench b;
    write_file(b.part, "begun");
    CHECK(b.adopt().ok());
}

TEST_CASE("What was put in the place of a part, and is another file as well, is not taken up") {
    const Bench b;
    SECTION("a hard link") { fs::create_hard_link(b.temp / "precious", b.part); }
    SECTION("a symbolic link") { fs::create_symlink(b.temp / "precious", b.part); }
    SECTION("a FIFO") { REQUIRE(::mkfifo(b.part.c_str(), 0600) == 0); }
    SECTION("another user's file") {
        if (::geteuid() != 0) return;  // only root can create one
        write_file(b.part, "theirs");
        REQUIRE(::chown(b.part.c_str(), 65534, 65534) == 0);
    }
    CHECK_FALSE(b.adopt().ok());
    CHECK(read_file(b.temp / "precious") == "precious");
}
