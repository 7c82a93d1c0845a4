#include "common/text.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace udtx::apps;

TEST_CASE("terminal text carries no control characters") {
    CHECK(escape_for_terminal("plain name.txt") == "plain name.txt");
    CHECK(escape_for_terminal("a\nb\tc\r") == "a\\nb\\tc\\r");
    CHECK(escape_for_terminal("\x1b[31mred") == "\\x1b[31mred");
    CHECK(escape_for_terminal("back\\slash") == "back\\\\slash");
    CHECK(escape_message("back\\slash\n") == "back\\slash\\n");
    CHECK(escape_for_terminal("\x7f") == "\\x7f");
    CHECK(escape_for_terminal("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
    CHECK(escape_for_terminal("\xff\xfe") == "\\xff\\xfe");
    CHECK(escape_for_terminal("\xc2\x9b"
                              "31m") == "\\u{9b}31m");  // C1: CSI
    CHECK(escape_for_terminal("a\xe2\x80\xae"
                              "b") == "a\\u{202e}b");                 // right-to-left override
    CHECK(escape_for_terminal("\xc0\xaf") == "\\xc0\\xaf");           // overlong
    CHECK(escape_for_terminal("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
    CHECK(escape_for_terminal("\xe2\x82") == "\\xe2\\x82");           // truncated
}

TEST_CASE("UTF-8 sequences are measured by RFC 3629") {
    CHECK(utf8_sequence("") == 0);
    CHECK(utf8_sequence("a") == 1);
    CHECK(utf8_sequence("\xc3\xbc") == 2);
    CHECK(utf8_sequence("\xe2\x82\xac") == 3);
    CHECK(utf8_sequence("\xf0\x9f\x98\x80") == 4);
    CHECK(utf8_sequence("\xf4\x90\x80\x80") == 0);
    CHECK(utf8_sequence("\xc1\xbf") == 0);
    CHECK(utf8_sequence("\x80") == 0);
    CHECK(utf8_sequence("\xf5\x80\x80\x80") == 0);
}

TEST_CASE("long text is cut in the middle, between characters") {
    CHECK(shorten("short", 10) == "short");
    CHECK(shorten("0123456789", 10) == "0123456789");
    CHECK(shorten("0123456789A", 10) == "012...789A");
    CHECK(shorten("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 6) == "\xc3\xbc...\xc3\xbc\xc3\xbc");
    CHECK(shorten("abcdef", 3) == "abc");
    CHECK(shorten("abcdef", 0).empty());
    CHECK(count_columns("gr\xc3\xbc\xc3\x9f") == 4);
}

TEST_CASE("the nearest flag is found, and nothing far off") {
    const std::vector<std::string> known{"--psk-file", "--identity", "--timeout", "--rate", "--authorized-keys"};
    CHECK(nearest("--pskfile", known) == "--psk-file");
    CHECK(nearest("--time-out", known) == "--timeout");
    CHECK(nearest("--auth", known) == "--authorized-keys");
    CHECK(nearest("--rat", known) == "--rate");
    CHECK(nearest("--completely-else", known) == std::nullopt);
}
