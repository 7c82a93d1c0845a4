#include "common/text.hpp"

#include <limits>

#include "test/catch.hpp"

using namespace udtx::apps;

TEST_CASE("JSON is nested and separated correctly") {
    JsonWriter json;
    json.begin_object();
    json.key("a").number(std::uint64_t{1});
    json.key("b").begin_array().string("x").number(-2).begin_object().end_object().end_array();
    json.key("c").begin_object().key("d").boolean(false).end_object();
    json.key("e").begin_array().end_array();
    json.end_object();
    CHECK(json.text() == R"({"a":1,"b":["x",-2,{}],"c":{"d":false},"e":[]})");
}

TEST_CASE("JSON strings are well-formed whatever they hold") {
    const auto quoted = [](std::string_view text) { return JsonWriter().string(text).text(); };
    CHECK(quoted("plain") == R"("plain")");
    CHECK(quoted("q\"b\\") == R"("q\"b\\")");
    CHECK(quoted("a\nb\x01\x7f") == R"("a\u000ab\u0001\u007f")");
    CHECK(quoted(std::string_view("z\0z", 3)) == R"("z\u0000z")");
    CHECK(quoted("gr\xc3\xbc") == "\"gr\xc3\xbc\"");
    CHECK(quoted("\xff"
                 "a") ==
          "\"\xef\xbf\xbd"
          "a\"");
    CHECK(quoted("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK(is_utf8("gr\xc3\xbc"));
    CHECK_FALSE(is_utf8("gr\xc3"));
    CHECK(to_hex("\xff\x01z") == "ff017a");
}

TEST_CASE("JSON numbers have no exponent and no infinity") {
    const auto printed = [](double v) { return JsonWriter().number(v).text(); };
    CHECK(printed(0.5) == "0.500000");
    CHECK(printed(3.2e9) == "3200000000");
    CHECK(printed(std::numeric_limits<double>::infinity()) == "null");
    CHECK(printed(std::numeric_limits<double>::quiet_NaN()) == "null");
    CHECK(JsonWriter().number(std::numeric_limits<std::uint64_t>::max()).text() == "18446744073709551615");
}
