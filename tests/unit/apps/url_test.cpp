#include "common/locations.hpp"

#include "test/catch.hpp"

using namespace udtx::apps;

TEST_CASE("destinations are read") {
    const auto full = parse_url("udtx://example.org:4000/sub/dir").value();
    CHECK(full.host == "example.org");
    CHECK(full.port == 4000);
    CHECK(full.path == "sub/dir");

    const auto bare = parse_url("udtx://10.0.0.1").value();
    CHECK(bare.host == "10.0.0.1");
    CHECK(bare.port == kDefaultPort);
    CHECK(bare.path.empty());

    const auto v6 = parse_url("udtx://[::1]:4000/").value();
    CHECK(v6.host == "::1");
    CHECK(v6.port == 4000);
    CHECK(authority(v6) == "[::1]:4000");
    CHECK(parse_url("udtx://[fe80::1%eth0]/").value().host == "fe80::1%eth0");
    CHECK(authority(bare) == "10.0.0.1:7011");
}

TEST_CASE("paths are percent-decoded and otherwise left to the receiver") {
    CHECK(parse_url("udtx://h/a%20b%2Fc").value().path == "a b/c");
    CHECK(parse_url("udtx://h/100%25").value().path == "100%");
    CHECK_FALSE(parse_url("udtx://h/100%").ok());
    CHECK_FALSE(parse_url("udtx://h/a%2").ok());
    CHECK_FALSE(parse_url("udtx://h/50%zz").ok());
    CHECK(parse_url("udtx://h/../x").value().path == "../x");
    CHECK_FALSE(parse_url("udtx://h/a%00b").ok());
}

TEST_CASE("what is no destination is refused with the reason") {
    for (const char* text : {"", "host:path", "http://h/", "udtx:/h/", "udtx://", "udtx:///x", "udtx://:4000/",
                             "udtx://h:0/", "udtx://h:65536/", "udtx://h:/", "udtx://h:4x/", "udtx://::1/",
                             "udtx://[::1/", "udtx://[::1]x/", "udtx://[]/", "udtx://me@h/"}) {
        INFO(text);
        CHECK_FALSE(parse_url(text).ok());
    }
    CHECK(parse_url("udtx://::1:4/").error().message.find("brackets") != std::string::npos);
}
