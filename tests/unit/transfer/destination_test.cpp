#include "udtx/transfer/selection.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/names.hpp"

using namespace udtx::transfer;
namespace fs = std::filesystem;

namespace {

void touch(const fs::path& path) { std::ofstream(path) << "x"; }

constexpr SourceShape kAll[] = {SourceShape::file, SourceShape::directory, SourceShape::contents, SourceShape::several,
                                SourceShape::stream};

}  // namespace

TEST_CASE("a directory takes what comes") {
    const udtx::test::TemporaryDirectory root;
    const std::string dir = (root.path() / "dir").string();
    fs::create_directory(dir);
    for (const SourceShape shape : kAll) {
        const auto landing = find_landing(dir, shape, 1);
        REQUIRE(landing.ok() == (shape != SourceShape::stream));
        if (!landing.ok()) continue;
        CHECK(landing->directory == dir);
        CHECK(landing->rename.empty());
    }
}

TEST_CASE("what ends with a slash is made") {
    const udtx::test::TemporaryDirectory root;
    for (const SourceShape shape : kAll) {
        const std::string dir = (root.path() / std::to_string(static_cast<int>(shape)) / "deep/").string();
        const auto landing = find_landing(dir, shape, 1);
        REQUIRE(landing.ok() == (shape != SourceShape::stream));
        CHECK(fs::is_directory(dir) == landing.ok());
        if (landing.ok()) CHECK(landing->rename.empty());
    }
}

TEST_CASE("what does not exist is the new name of the one thing that comes") {
    const udtx::test::TemporaryDirectory root;
    const std::string parent = root.path().string();
    for (const SourceShape shape : {SourceShape::file, SourceShape::directory, SourceShape::stream}) {
        const auto landing = find_landing(parent + "/new", shape, 1);
        REQUIRE(landing.ok());
        CHECK(landing->directory == parent);
        CHECK(landing->rename == "new");
        const auto nowhere = find_landing(parent + "/no/new", shape, 1);
        REQUIRE_FALSE(nowhere.ok());
        CHECK(nowhere.error().system_error == ENOENT);
    }
    CHECK_FALSE(fs::exists(parent + "/new"));
    CHECK_FALSE(find_landing(parent + "/new", SourceShape::several, 1).ok());
    const auto contents = find_landing(parent + "/new", SourceShape::contents, 1);
    REQUIRE(contents.ok());
    CHECK(contents->directory == parent + "/new");
    CHECK(contents->rename.empty());
}

TEST_CASE("a dry run finds no place where the real one would find none, and makes nothing") {
    const udtx::test::TemporaryDirectory root;
    const std::string parent = root.path().string();
    CHECK(find_landing(parent + "/deep/new/", SourceShape::contents, 1, true).ok());
    CHECK(find_landing(parent + "/new", SourceShape::contents, 1, true).ok());
    CHECK_FALSE(find_landing(parent + "/no/new", SourceShape::contents, 1, true).ok());
    CHECK(fs::is_empty(root.path()));
}

TEST_CASE("a file is replaced by a file only") {
    const udtx::test::TemporaryDirectory root;
    const std::string file = (root.path() / "file").string();
    touch(file);
    for (const SourceShape shape : kAll) {
        const auto landing = find_landing(file, shape, 1);
        CHECK(landing.ok() == (shape == SourceShape::file || shape == SourceShape::stream));
        if (landing.ok()) CHECK(landing->rename == "file");
    }
}

TEST_CASE("a directory that an earlier run began to make is still the new name") {
    const udtx::test::TemporaryDirectory root;
    const std::string dir = (root.path() / "new").string();
    fs::create_directory(dir);
    touch(root.path() / journal_name(77));
    CHECK((*find_landing(dir, SourceShape::directory, 77)).rename == "new");
    CHECK((*find_landing(dir, SourceShape::directory, 78)).rename.empty());
    CHECK((*find_landing(dir, SourceShape::file, 77)).rename.empty());
    CHECK((*find_landing(dir + "/", SourceShape::directory, 77)).rename.empty());
}

TEST_CASE("whether anything of what comes stands there already") {
    const udtx::test::TemporaryDirectory root;
    const std::string dir = (root.path() / "dir").string();
    fs::create_directory(dir);
    touch(dir + "/there");
    CHECK(is_fresh(dir, {"new"}, 7));
    CHECK(is_fresh(dir + "/", {"new", "newer"}, 7));
    CHECK_FALSE(is_fresh(dir, {"new", "there"}, 7));
    // The names of the transfer are unknown, and the directory has entries.
    CHECK_FALSE(is_fresh(dir, {}, 7));
    CHECK_FALSE(is_fresh(dir + "/there", {"new"}, 7));
    for (const char* place : {"/x", "/x/", "/x/y/"}) CHECK(is_fresh(dir + place, {}, 7));
    fs::create_symlink("nowhere", dir + "/link");
    CHECK_FALSE(is_fresh(dir, {"link"}, 7));

    // An earlier run has left its journal, either in the directory or next to the new name of a tree.
    touch(dir + '/' + journal_name(7));
    CHECK_FALSE(is_fresh(dir, {"new"}, 7));
    CHECK(is_fresh(dir, {"new"}, 8));
    for (const char* place : {"/x", "/x/"}) CHECK_FALSE(is_fresh(dir + place, {"new"}, 7));
}

TEST_CASE("the names that sources bring") {
    using Names = std::vector<std::string>;
    CHECK(names_of({"a", "/b/c", "d e/f"}) == Names{"a", "c", "f"});
    for (const char* unknown : {"", ".", "..", "a/", "a/..", "/"}) CHECK(names_of({"a", unknown}).empty());
    CHECK(names_of(Names(256, "a")).size() == 256);
    CHECK(names_of(Names(257, "a")).empty());
}

TEST_CASE("the shape of sources") {
    const udtx::test::TemporaryDirectory root;
    const std::string base = root.path().string();
    touch(base + "/file");
    fs::create_directory_symlink(base, base + "/link");
    CHECK(shape_of({base + "/file"}) == SourceShape::file);
    CHECK(shape_of({base + "/link"}) == SourceShape::file);
    CHECK(shape_of({base}) == SourceShape::directory);
    CHECK(shape_of({base + "/."}) == SourceShape::contents);
    CHECK(shape_of({base + "/"}) == SourceShape::contents);
    CHECK(shape_of({".."}) == SourceShape::contents);
    CHECK(shape_of({base, base}) == SourceShape::several);
    CHECK(shape_of({"-"}) == SourceShape::stream);
}
