#include "transfer/file/confined_dir.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx::transfer;
using namespace udtx::test;

namespace {

int try_open(const ConfinedDir& dir, const std::string& path, int flags = O_RDONLY) {
    return dir.open_at(path, flags, 0600).error;
}

void check_attacks(const TemporaryDirectory& temp, ConfinedDir::Resolve resolve) {
    auto opened = ConfinedDir::open((temp / "root").string(), resolve);
    REQUIRE(opened.ok());
    const ConfinedDir& dir = *opened;
    CHECK(try_open(dir, "plain") == 0);
    CHECK(try_open(dir, "sub/inner") == 0);
    CHECK(try_open(dir, "") == 0);
    CHECK(try_open(dir, "none") == ENOENT);
    for (const std::string path :
         {"../outside/secret", "sub/../../outside/secret", "..", "/etc/passwd", "sub/..", "."}) {
        CAPTURE(path);
        CHECK(try_open(dir, path) == EINVAL);
    }
    for (const std::string path : {"leaf", "hop/secret", "twohop/secret", "inside/inner", "twohop/new"}) {
        CAPTURE(path);
        const int error = try_open(dir, path, O_RDWR | O_CREAT);
        CHECK((error == ELOOP || error == ENOTDIR));
    }
    CHECK_FALSE(fs::exists(temp / "outside/new"));
    // Opening a FIFO as the last component fails without blocking.
    CHECK((try_open(dir, "fifo", O_WRONLY) == ENXIO));
    CHECK_FALSE(dir.make_subdirectory("hop/deep").ok());
    CHECK_FALSE(dir.make_subdirectory("sub/../x").ok());
    CHECK(dir.make_subdirectory("sub/new/deep").ok());
    CHECK(fs::is_directory(temp / "root/sub/new/deep"));
    CHECK_FALSE(fs::exists(temp / "outside/deep"));
}

}  // namespace

TEST_CASE("no path leads out of a confined directory") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "root/sub");
    fs::create_directories(temp / "outside");
    write_file(temp / "outside/secret", "s");
    write_file(temp / "root/plain", "p");
    write_file(temp / "root/sub/inner", "i");
    fs::create_symlink("../outside/secret", temp / "root/leaf");
    fs::create_symlink("../outside", temp / "root/hop");
    fs::create_symlink("hop", temp / "root/twohop");
    fs::create_symlink("sub", temp / "root/inside");
    REQUIRE(::mkfifo((temp / "root/fifo").c_str(), 0600) == 0);
    SECTION("by openat2 where the kernel has it") { check_attacks(temp, ConfinedDir::Resolve::best); }
    SECTION("component by component") { check_attacks(temp, ConfinedDir::Resolve::by_component); }
}

TEST_CASE("the directory itself may be reached over a link") {
    const TemporaryDirectory temp;
    fs::create_directory(temp / "real");
    fs::create_symlink("real", temp / "link");
    CHECK(ConfinedDir::open((temp / "link").string()).ok());
    CHECK_FALSE(ConfinedDir::open((temp / "none").string()).ok());
}

TEST_CASE("names split into directory and leaf") {
    CHECK(split_leaf("a/b/c").directory == "a/b");
    CHECK(split_leaf("a/b/c").leaf == "c");
    CHECK(split_leaf("c").directory.empty());
}
