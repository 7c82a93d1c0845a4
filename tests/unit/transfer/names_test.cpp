#include "transfer/names.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;

TEST_CASE("components that could lead elsewhere are refused") {
    using namespace std::string_literals;
    for (const std::string& bad : {""s, "."s, ".."s, "a/b"s, "/"s, "a\0b"s, std::string(256, 'x')}) {
        CAPTURE(escape_name(bad));
        REQUIRE_FALSE(check_component(bad).ok());
        CHECK(check_component(bad).error().code == ErrorCode::refused);
    }
    for (const std::string& good : {"a"s, "..."s, ".hidden"s, " "s, "-rf"s, "a\nb"s, std::string(255, 'x')}) {
        CHECK(check_component(good).ok());
    }
}

TEST_CASE("paths are bounded in depth and length") {
    CHECK_FALSE(check_path({}).ok());
    CHECK(check_path(std::vector<std::string>(kMaxDepth, "d")).ok());
    CHECK_FALSE(check_path(std::vector<std::string>(kMaxDepth + 1, "d")).ok());
    CHECK(check_path(std::vector<std::string>(16, std::string(255, 'x'))).ok());
    CHECK_FALSE(check_path(std::vector<std::string>(17, std::string(255, 'x'))).ok());
    CHECK_FALSE(check_path({"a", "..", "b"}).ok());
}

TEST_CASE("paths split at slashes and join again") {
    CHECK(split_path("/a//b/c/") == std::vector<std::string>{"a", "b", "c"});
    CHECK(split_path("").empty());
    CHECK(join_path({"a", "b"}) == "a/b");
}

TEST_CASE("escaping leaves nothing that steers a terminal") {
    CHECK(escape_name("plain \xc3\xa4") == "plain \xc3\xa4");
    CHECK(escape_name("a\x1b[2J\n'\\") == "a\\x1b[2J\\x0a\\x27\\x5c");
}

TEST_CASE("names of transfers are short, ASCII and lower case, and are known again") {
    CHECK(temp_name(0xab) == ".udtx-00000000000000ab.part");
    CHECK(journal_name(0xab) == ".udtx-00000000000000ab.journal");
    CHECK(temp_name(1) != temp_name(2));
    CHECK(is_transfer_file(temp_name(UINT64_MAX)));
    CHECK(is_transfer_file(journal_name(UINT64_MAX)));
    CHECK(is_transfer_file(".f.udtx-00000000000000ab.part"));  // from an older version
    CHECK_FALSE(is_transfer_file("udtx-00000000000000ab.part"));
    CHECK_FALSE(is_transfer_file(".udtx-0000000000000ab.part"));
    CHECK_FALSE(is_transfer_file(".f.udtx-00000000000000ab.journal"));
}

TEST_CASE("files of transfers are known in capitals, too") {
    CHECK(is_transfer_file(".udtx-0123456789abcdef.part"));
    CHECK(is_transfer_file(".UDTX-0123456789ABCDEF.JOURNAL"));
    CHECK(is_transfer_file(".ud\xe2\x80\x8btx-0123456789abcdef.part"));  // with a zero-width space
    CHECK(is_transfer_file(".udtx-0123456789abcdef.part. "));
    CHECK_FALSE(is_transfer_file("UDTX-0123456789ABCDEF.PART"));
}
