#include "transfer/landing/tree_writer.hpp"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "target_tree_rig.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

struct stat status_of(const fs::path& path) {
    struct stat out = {};
    REQUIRE(::stat(path.c_str(), &out) == 0);
    return out;
}

TreeSetup preserving() {
    TreeSetup out;
    out.offer.preserve = true;
    return out;
}

bool make_directory(TargetTreeRig& rig, MadeDirectories& directories, const std::string& path) {
    return directories.make(rig.entry(EntryType::directory, path), path) != MadeDirectories::Stands::no;
}

}  // namespace

TEST_CASE("a directory is its owner's to write in until it is finished, and those in it are finished before it") {
    TargetTreeRig rig(preserving());
    MadeDirectories directories(*rig.tree);
    rig.mode = 0500;
    REQUIRE(make_directory(rig, directories, "outer"));
    REQUIRE(make_directory(rig, directories, "outer/inner"));
    CHECK((status_of(rig.temp / "outer").st_mode & 0777) == 0700);
    CHECK(directories.held() > 0);

    REQUIRE(directories.finish_next());
    CHECK((status_of(rig.temp / "outer/inner").st_mode & 0777) == 0500);
    CHECK((status_of(rig.temp / "outer").st_mode & 0777) == 0700);
    REQUIRE(directories.finish_next());
    CHECK((status_of(rig.temp / "outer").st_mode & 0777) == 0500);
    CHECK(status_of(rig.temp / "outer").st_mtime == 1'000'000'000);
    CHECK_FALSE(directories.finish_next());
    fs::permissions(rig.temp / "outer", fs::perms::owner_all);
    fs::permissions(rig.temp / "outer/inner", fs::perms::owner_all);
}

TEST_CASE("a directory that exists with its attributes is unchanged") {
    using Stands = MadeDirectories::Stands;
    const auto make = [](TargetTreeRig& rig) {
        MadeDirectories directories(*rig.tree);
        const Stands stands = directories.make(rig.entry(EntryType::directory, "d"), "d");
        directories.finish_all();
        return stands;
    };
    TargetTreeRig rig(preserving());
    rig.mode = 0750;
    CHECK(make(rig) == Stands::made);
    CHECK(make(rig) == Stands::unchanged);
    fs::permissions(rig.temp / "d", fs::perms(0700));
    CHECK(make(rig) == Stands::made);
    CHECK(make(rig) == Stands::unchanged);
    fs::last_write_time(rig.temp / "d", fs::file_time_type::clock::now());
    CHECK(make(rig) == Stands::made);
    CHECK(make(rig) == Stands::unchanged);
    // What it has of its own stays unless modes and times are sent.
    TargetTreeRig plain;
    CHECK(make(plain) == Stands::made);
    fs::permissions(plain.temp / "d", fs::perms(0700));
    CHECK(make(plain) == Stands::unchanged);
}

TEST_CASE("a directory takes the place of a file, and of nothing where that is to stay") {
    TreeSetup setup;
    SECTION("it may be replaced") {
        TargetTreeRig rig(setup);
        MadeDirectories directories(*rig.tree);
        write_file(rig.temp / "name", "a file");
        write_file(rig.temp / "name2", "a file");
        CHECK(make_directory(rig, directories, "name"));
        CHECK(fs::is_directory(rig.temp / "name"));
        CHECK(read_file(rig.temp / "name2") == "a file");
    }
    SECTION("it stays") {
        setup.offer.overwrite = Overwrite::never;
        TargetTreeRig rig(setup);
        MadeDirectories directories(*rig.tree);
        write_file(rig.temp / "name", "a file");
        CHECK_FALSE(make_directory(rig, directories, "name"));
        CHECK(read_file(rig.temp / "name") == "a file");
        CHECK(rig.skipped == 1);
        CHECK(rig.failed.empty());
    }
}

TEST_CASE("the destination itself gets what belongs to a source only where it may") {
    TreeSetup setup = preserving();
    const bool may = GENERATE(false, true);
    setup.options.keep_base = !may;
    TargetTreeRig rig(setup);
    MadeDirectories directories(*rig.tree);
    rig.mode = 0750;
    const auto before = status_of(rig.temp.path()).st_mtime;
    CHECK(directories.take_top(rig.entry(EntryType::directory, "")) == may);
    directories.finish_all();
    directories.finish_top();
    CHECK(status_of(rig.temp.path()).st_mtime == (may ? 1'000'000'000 : before));
}
