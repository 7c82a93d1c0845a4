#include "transfer/job/pull_request.hpp"

#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/fault_case.hpp"
#include "transfer/names.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

AskedFor asked(std::vector<std::string> sources, AskedFor::Sources how = AskedFor::Sources::names) {
    PullWish wish;
    wish.what.sources = std::move(sources);
    return {std::move(wish), how};
}

bool shape(AskedFor& request, SourceShape shape) { return request.check(message::Sources{shape, {}}).ok(); }

bool file(AskedFor& request, const std::string& path) {
    return request.check(EntryType::file, split_path(path), {}).ok();
}

bool question(AskedFor& request, const std::string& path) {
    message::Query query;
    query.path = split_path(path);
    return request.check(query).ok();
}

}  // namespace

TEST_CASE("F50 over ssh sources are patterns, of their last name, and literal names") {
    AskedFor request = asked({"some/*/a*.txt", "[x]", "~/b?"}, AskedFor::Sources::patterns);
    REQUIRE(shape(request, SourceShape::several));
    for (const char* name : {"a.txt", "abc.txt", "x", "[x]", "b1", "b1/below"}) CHECK(file(request, name));
    for (const char* name : {"b", ".a.txt", "a.txt.sh", "xx", "b12", "some", ".bashrc"})
        CHECK_FALSE(file(request, name));
    CHECK_FALSE(file(request, "y/a.txt"));
}

TEST_CASE("no star stands for a name that begins with a dot") {
    AskedFor request = asked({"*"}, AskedFor::Sources::patterns);
    REQUIRE(shape(request, SourceShape::several));
    CHECK(file(request, "any"));
    CHECK_FALSE(file(request, ".bashrc"));
}

TEST_CASE("patterns are none where a server has the sources") {
    AskedFor request = asked({"*"});
    REQUIRE(shape(request, SourceShape::file));
    CHECK_FALSE(file(request, "any"));
    CHECK(file(request, "*"));
}

TEST_CASE("a home directory comes under one name, whatever it is") {
    AskedFor request = asked({"~user"}, AskedFor::Sources::patterns);
    REQUIRE(shape(request, SourceShape::directory));
    CHECK(request.check(EntryType::directory, {"joe"}, {}).ok());
    CHECK(file(request, "joe/.bashrc"));
    CHECK_FALSE(file(request, ".bashrc"));
}

TEST_CASE("F50 a home directory is one directory and no hidden one, whatever else comes with it") {
    AskedFor request = asked({"~", "a.txt"}, AskedFor::Sources::patterns);
    REQUIRE(shape(request, SourceShape::several));
    const auto directory = [&](const char* name) { return request.check(EntryType::directory, {name}, {}).ok(); };
    CHECK_FALSE(file(request, ".bashrc"));
    CHECK_FALSE(file(request, "joe"));
    CHECK_FALSE(file(request, "joe/x"));
    CHECK_FALSE(directory(".ssh"));
    CHECK(directory("joe"));
    CHECK(file(request, "joe/.bashrc"));
    CHECK(file(request, "a.txt"));
    CHECK_FALSE(directory("bin"));
    CHECK_FALSE(file(request, "bin/x"));
    CHECK_FALSE(file(request, "joe"));
}

TEST_CASE("F50 an empty list asks for nothing") {
    PullWish wish;
    wish.what.sources = {"dir/"};
    wish.what.names.emplace();
    AskedFor request(wish, AskedFor::Sources::names);
    REQUIRE(shape(request, SourceShape::contents));
    CHECK_FALSE(file(request, ".bashrc"));
    CHECK_FALSE(question(request, "any"));
    CHECK_FALSE(request.for_contents());
}

TEST_CASE("what is in a directory comes under any name, and only if that was asked for") {
    for (const char* source : {"", ".", "dir/", "dir/.", "/"}) {
        AskedFor request = asked({source});
        REQUIRE(shape(request, SourceShape::contents));
        CHECK(file(request, "any"));
        CHECK_FALSE(shape(request, SourceShape::directory));
    }
    for (const char* source : {"dir", "a/dir", "./dir"}) {
        AskedFor request = asked({source});
        CHECK_FALSE(shape(request, SourceShape::contents));
        CHECK_FALSE(shape(request, SourceShape::stream));
        REQUIRE(shape(request, SourceShape::directory));
        CHECK(file(request, "dir/any"));
    }
    AskedFor several = asked({"a", "dir/"});
    CHECK_FALSE(shape(several, SourceShape::file));
    REQUIRE(shape(several, SourceShape::several));
    CHECK(file(several, "any"));
}

TEST_CASE("F50 of a list come its names, the way to them, and what they bring") {
    PullWish wish;
    wish.what.sources = {"dir/"};
    wish.what.names = std::vector<std::string>{"a/b/c", "./e/", "a/b//f/.", "all"};
    REQUIRE(wish.what.rules.add({false, "b"}).ok());
    REQUIRE(wish.what.rules.add({false, "*.o"}).ok());
    for (const bool recursive : {false, true}) {
        wish.what.into_named = recursive;
        AskedFor request(wish, AskedFor::Sources::names);
        REQUIRE(shape(request, SourceShape::contents));
        const auto directory = [&](const std::string& path) {
            return request.check(EntryType::directory, split_path(path), {}).ok();
        };
        // The rules do not apply to the directories that lead to a listed name.
        for (const char* name : {"a", "a/b", "a/b/f", "e", "all"}) CHECK(directory(name));
        for (const char* name : {"a/b/c", "e/x", "a/b/f/x", "all"}) CHECK(file(request, name));
        for (const char* name : {"a/x", "x", "a/b/x", "e/x.o", "a/b/c.o"}) CHECK_FALSE(file(request, name));
        for (const char* name : {"a", "a/b"}) CHECK_FALSE(file(request, name));
        for (const char* name : {"e/x/y", "a/b/f/x/y", "all/x", "a/b/c/x"}) CHECK(file(request, name) == recursive);
        CHECK_FALSE(file(request, "all/b/x"));
        CHECK(question(request, "e/x"));
        CHECK_FALSE(question(request, "x"));
    }
}

TEST_CASE("F50 a listed directory that a pattern excludes comes as the way to others, and without the rest of it") {
    PullWish wish;
    wish.what.sources = {"dir/"};
    wish.what.names = std::vector<std::string>{"c", "c/a/b", "c/d"};
    wish.what.into_named = true;
    REQUIRE(wish.what.rules.add({false, "/c"}).ok());
    AskedFor request(wish, AskedFor::Sources::names);
    REQUIRE(shape(request, SourceShape::contents));
    CHECK(request.check(EntryType::directory, {"c"}, {}).ok());
    CHECK(request.check(EntryType::directory, {"c", "a"}, {}).ok());
    CHECK(file(request, "c/d"));
    CHECK(file(request, "c/a/b"));
    CHECK(file(request, "c/a/b/x"));
    int refused = 0;
    for (const char* name : {"c", "c/x", "c/a/x", "c/x/y"}) {
        const bool taken = file(request, name);
        CHECK_FALSE(taken);
        refused += taken ? 0 : 1;
    }
    test::fault_case(50, "names below a listed directory that a pattern excludes: 4 of 4 without a request are refused",
                     refused, " refused");
}

TEST_CASE("what lies below an excluded directory is excluded, whatever came before it") {
    PullWish wish;
    wish.what.sources = {"dir/"};
    REQUIRE(wish.what.rules.add({true, "/a/keep/"}).ok());
    REQUIRE(wish.what.rules.add({false, "/a/*/"}).ok());
    AskedFor request(wish, AskedFor::Sources::names);
    REQUIRE(shape(request, SourceShape::contents));
    CHECK(file(request, "a/keep/x/y"));
    CHECK_FALSE(file(request, "a/other/x/y"));
    CHECK_FALSE(file(request, "a/other/x/y"));
    CHECK(file(request, "a/keep/x/z"));
    CHECK(file(request, "a/file"));
    CHECK_FALSE(question(request, "a/other/x"));
}

TEST_CASE("F50 what was asked for and has not come is told, and what stands here or is said to be missing is not") {
    using Questions = AskedFor::Questions;
    const auto absent = [](AskedFor& request, Questions questions) {
        std::string names;
        for (const AskedFor::Absent& one : request.take_absent(questions)) names += one.name + ' ';
        return names;
    };
    AskedFor patterns = asked({"a*.txt", "b*", "~", "some/c", "dir/"}, AskedFor::Sources::patterns);
    REQUIRE(patterns.check(message::Sources{SourceShape::several, {{"/home/joe/some/c", "gone"}}}).ok());
    CHECK(file(patterns, "a1.txt"));
    CHECK(absent(patterns, Questions::open) == "b* ~ ");
    CHECK(absent(patterns, Questions::over).empty());  // reported already

    AskedFor names = asked({"x/a", "b", "c", "d"});
    CHECK_FALSE(names.check(message::Sources{SourceShape::several, {{"a", "gone"}}}).ok());
    REQUIRE(names.check(message::Sources{SourceShape::several, {{"x/a", "gone"}}}).ok());
    for (const char* name : {"b", "c", "d"}) {
        message::Query query;
        query.number = static_cast<std::uint64_t>(name[0]);
        query.path = {name};
        REQUIRE(names.check(query).ok());
    }
    names.note(message::Answer{'b', Holding::same, 0, {}, 0});
    names.note(message::Answer{'c', Holding::nothing, 0, {}, 0});
    CHECK(absent(names, Questions::open).empty());
    CHECK(file(names, "d"));
    CHECK(absent(names, Questions::over) == "c ");
}

TEST_CASE("of a part of a tree nothing comes that is in another part") {
    PullWish wish;
    wish.what.sources = {"t"};
    wish.what.part = PathRange{"t/b/m", "t/d"};
    AskedFor request(std::move(wish), AskedFor::Sources::names);
    REQUIRE(shape(request, SourceShape::directory));
    for (const char* name : {"t/b/m", "t/b/z/y", "t/c", "t/c/x"}) CHECK(file(request, name));
    for (const char* name : {"t/a", "t/b/a", "t/b", "t/d", "t/d/x"}) CHECK_FALSE(file(request, name));
    for (const char* name : {"t", "t/b", "t/b/z", "t/c"}) {
        CHECK(request.check(EntryType::directory, split_path(name), {}).ok());
    }
    for (const char* name : {"t/a", "t/b/a", "t/d", "t/d/x"}) {
        CHECK_FALSE(request.check(EntryType::directory, split_path(name), {}).ok());
        CHECK_FALSE(question(request, name));
    }
    CHECK(question(request, "t/c"));
}

TEST_CASE("what is in another part is not missing") {
    PullWish wish;
    wish.what.sources = {"a", "b"};
    wish.what.part = PathRange{"b", ""};
    AskedFor request(std::move(wish), AskedFor::Sources::names);
    REQUIRE(shape(request, SourceShape::several));
    const auto absent = request.take_absent(AskedFor::Questions::over);
    REQUIRE(absent.size() == 1);
    CHECK(absent.front().name == "b");
}
