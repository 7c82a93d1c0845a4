#include "udtx/transfer/selection.hpp"

#include <string>
#include <vector>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

bool excluded(const std::string& pattern, const std::string& path, bool directory = false) {
    FilterRules rules;
    REQUIRE(rules.add({false, pattern}).ok());
    return rules.excludes(path, directory);
}

}  // namespace

TEST_CASE("a pattern without a slash looks at the last component, wherever it stands") {
    CHECK(excluded("*.o", "a.o"));
    CHECK(excluded("*.o", "deep/down/a.o"));
    CHECK_FALSE(excluded("*.o", "a.o/b"));
    CHECK_FALSE(excluded("*.o", "a.oo"));
    CHECK(excluded("f?o", "d/foo"));
    CHECK_FALSE(excluded("f?o", "d/f/o"));
    CHECK(excluded("foo", "x/foo"));
    CHECK_FALSE(excluded("foo", "x/barfoo"));
}

TEST_CASE("a leading slash anchors at the top, a trailing one means directories") {
    CHECK(excluded("/foo", "foo"));
    CHECK_FALSE(excluded("/foo", "x/foo"));
    CHECK(excluded("cache/", "a/cache", true));
    CHECK_FALSE(excluded("cache/", "a/cache", false));
    CHECK(excluded("/a/*/c", "a/b/c"));
    CHECK_FALSE(excluded("/a/*/c", "a/b/b/c"));
}

TEST_CASE("a slash inside looks at as many components, from any on") {
    CHECK(excluded("foo/bar", "foo/bar"));
    CHECK(excluded("foo/bar", "x/y/foo/bar"));
    CHECK_FALSE(excluded("foo/bar", "xfoo/bar"));
    CHECK_FALSE(excluded("foo/bar", "foo/bar/z"));
}

TEST_CASE("two stars take slashes too") {
    CHECK(excluded("foo/**", "a/foo/b/c"));
    CHECK_FALSE(excluded("foo/**", "a/foo"));
    CHECK(excluded("**/foo", "foo"));
    CHECK(excluded("**/foo", "a/b/foo"));
    CHECK(excluded("/a/**/z", "a/b/c/z"));
    CHECK(excluded("a**z", "x/a/b/z"));
    CHECK(excluded("dir/***", "x/dir", true));
    CHECK(excluded("dir/***", "x/dir/below/it"));
    CHECK_FALSE(excluded("dir/***", "x/dir", false));
}

TEST_CASE("classes and escapes") {
    CHECK(excluded("[a-c]x", "bx"));
    CHECK_FALSE(excluded("[a-c]x", "dx"));
    CHECK(excluded("[!a-c]x", "dx"));
    CHECK(excluded("[]]", "]"));
    CHECK(excluded("a[", "a["));
    CHECK(excluded("\\*.o*", "*.ox"));
    CHECK_FALSE(excluded("\\*.o*", "a.ox"));
    CHECK(excluded("a\\b", "a\\b"));  // in a pattern without wildcards, a backslash is literal
    CHECK_FALSE(excluded("x[^a]y", "x/y"));
    CHECK(excluded("[[:digit:]]*", "7seven"));
    CHECK_FALSE(excluded("[[:digit:]]*", "seven7"));
    CHECK(excluded("[^[:alnum:]_]", "-"));
    CHECK_FALSE(excluded("[^[:alnum:]_]", "_"));
    CHECK(excluded("a[[:space:]-]b", "a\tb"));
    CHECK(excluded("a[[:space:]-]b", "a-b"));
    CHECK(excluded("[[:colour:]]", ":]"));  // not a class: brackets, colons and letters are literal
}

TEST_CASE("the first rule that matches decides") {
    FilterRules rules;
    REQUIRE(rules.add({true, "important.o"}).ok());
    REQUIRE(rules.add({false, "*.o"}).ok());
    REQUIRE(rules.add({true, "*"}).ok());
    CHECK_FALSE(rules.excludes("d/important.o", false));
    CHECK(rules.excludes("d/other.o", false));
    CHECK_FALSE(rules.excludes("d/other.c", false));
}

TEST_CASE("patterns are bounded, and so is what one costs") {
    FilterRules rules;
    CHECK_FALSE(rules.add({false, ""}).ok());
    CHECK_FALSE(rules.add({false, "/"}).ok());
    CHECK_FALSE(rules.add({false, std::string(2000, 'a')}).ok());
    CHECK_FALSE(rules.add({false, std::string("a\0b", 3)}).ok());
    std::string stars;
    for (int i = 0; i < 250; ++i) stars += "*a**";
    REQUIRE(rules.add({false, stars}).ok());
    CHECK_FALSE(rules.excludes(std::string(240, 'a') + "b", false));  // backtracking would take almost forever
    std::size_t taken = 1;
    while (rules.add({false, "x" + std::to_string(taken)}).ok()) ++taken;
    CHECK(taken == kMaxFilterRules);
}
