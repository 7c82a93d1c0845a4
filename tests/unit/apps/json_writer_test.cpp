#include "common/text.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "test/catch.hpp"

using namespace udtx::apps;

TEST_CASE("JSON is nested and separated correctly") {
    const std::vector<std::string> one{"x"};
    Json json = Json::object({{"a", std::uint64_t{1}},
                              {"b", Json::array(one)},
                              {"c", Json::object({{"d", false}, {"n", nullptr}})},
                              {"e", Json::array(std::vector<std::string>())}});
    CHECK(json.members() == R"("a":1,"b":["x"],"c":{"d":false,"n":null},"e":[])");
    json.add({{"f", std::optional<int>(-2)}, {"g", std::optional<int>()}}).add({{"h", Json::ready("[{}]")}});
    CHECK(json.text() == R"({"a":1,"b":["x"],"c":{"d":false,"n":null},"e":[],"f":-2,"g":null,"h":[{}]})");
    CHECK(Json::array(std::vector{1, 2}, [](int n) { return 2 * n; }).text() == "[2,4]");
    CHECK(Json::object({}).add_bytes("p", "a").add_bytes("q", "\xff").text() ==
          "{\"p\":\"a\",\"q\":\"\xef\xbf\xbd\",\"q_hex\":\"ff\"}");
}

TEST_CASE("JSON strings are well-formed whatever they hold") {
    const auto quoted = [](std::string_view text) { return Json(text).text(); };
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
    const auto printed = [](double v) { return Json(v).text(); };
    CHECK(printed(0.5) == "0.500000");
    CHECK(printed(3.2e9) == "3200000000");
    CHECK(printed(std::numeric_limits<double>::infinity()) == "null");
    CHECK(printed(std::numeric_limits<double>::quiet_NaN()) == "null");
    CHECK(Json(std::numeric_limits<std::uint64_t>::max()).text() == "18446744073709551615");
}
