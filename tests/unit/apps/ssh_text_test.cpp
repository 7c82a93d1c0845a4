#include "common/locations.hpp"
#include "ssh/bootstrap.hpp"
#include "test/catch.hpp"

using namespace udtx::apps;

TEST_CASE("host:path is told from local names and URLs") {
    CHECK(looks_like_ssh("host:"));
    CHECK(looks_like_ssh("host:dir/a:b"));
    CHECK(looks_like_ssh("me@host:~/x"));
    CHECK(looks_like_ssh("[::1]:x"));
    CHECK(looks_like_ssh("me@[fe80::1%eth0]:/x"));
    CHECK_FALSE(looks_like_ssh("udtx://host:7011/"));
    CHECK_FALSE(looks_like_ssh("./a:b"));
    CHECK_FALSE(looks_like_ssh("/tmp/a:b"));
    CHECK_FALSE(looks_like_ssh("plain"));
    CHECK_FALSE(looks_like_ssh(":x"));
    CHECK_FALSE(looks_like_ssh("[::1]"));
    CHECK_FALSE(looks_like_ssh("dir/me@host:x"));
}

TEST_CASE("host:path is taken apart") {
    const auto full = parse_ssh_target("me@example.org:/data/a b:c").value();
    CHECK(full.user == "me");
    CHECK(full.host == "example.org");
    CHECK(full.path == "/data/a b:c");
    CHECK(full.login() == "me@example.org");

    const auto v6 = parse_ssh_target("[fe80::1%eth0]:x").value();
    CHECK(v6.host == "fe80::1%eth0");
    CHECK(v6.login() == "fe80::1%eth0");
    CHECK(parse_ssh_target("me@[::1]:").value().login() == "me@::1");
    CHECK(parse_ssh_target("a@realm@host:x").value().user == "a@realm");

    // A target that ssh would take as an option, or that a ProxyCommand's shell would run, is refused.
    for (const char* bad : {"-oProxyCommand=x:y", "-l@host:x", "@host:x", "me@:x", "a b:x", "$(id):x", "`id`:x"}) {
        CHECK_FALSE(parse_ssh_target(bad).ok());
    }
}

TEST_CASE("ports and ranges of ports") {
    CHECK(parse_port_range("7000").value() == PortRange{7000, 7000});
    CHECK(parse_port_range("60000-60010").value() == PortRange{60000, 60010});
    CHECK(to_string(PortRange{60000, 60010}) == "60000-60010");
    for (const char* bad : {"", "0", "x", "7-", "-7", "9-8", "1-2-3", "65536", "1-70000", "0-5"}) {
        CHECK_FALSE(parse_port_range(bad).ok());
    }
}

TEST_CASE("what is said over ssh survives") {
    BootstrapFields fields;
    fields.add("destination", "a b%\n\xC3\xA4'\"");
    fields.add("argument", "");
    fields.add("argument", "--x=1 2");
    fields.add("port", "42");
    const std::string text = fields.to_text();
    BootstrapFieldReader reader;
    std::optional<BootstrapFields> back;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
        REQUIRE_FALSE(back);
        auto block = reader.feed(text.substr(begin, end - begin));
        REQUIRE(block.ok());
        back = std::move(*block);
        begin = end + 1;
    }
    REQUIRE(back);
    CHECK(back->get("destination") == "a b%\n\xC3\xA4'\"");
    CHECK(back->all("argument") == std::vector<std::string>{"", "--x=1 2"});
    CHECK(back->number("port") == 42U);
    CHECK_FALSE(back->number("destination"));
    CHECK_FALSE(back->number("missing"));
    CHECK(back->get("missing").empty());

    CHECK_FALSE(BootstrapFieldReader().feed("").ok());
    BootstrapFieldReader flooded;
    const std::string line = "x " + std::string(1U << 20U, 'y');
    bool taken = true;
    for (int i = 0; i < 17 && taken; ++i) taken = flooded.feed(line).ok();
    CHECK_FALSE(taken);
    BootstrapFieldReader crowded;  // the memory for each field counts, too
    taken = true;
    for (int i = 0; i < 1'000'000 && taken; ++i) taken = crowded.feed("x").ok();
    CHECK_FALSE(taken);
}

TEST_CASE("greetings") {
    const auto greeting = parse_greeting("udtx-bootstrap 3 1.2.3 7");
    REQUIRE(greeting);
    CHECK(greeting->bootstrap == 3);
    CHECK(greeting->program == "1.2.3");
    CHECK(greeting->transfer == 7);
    CHECK(to_line(*greeting) == "udtx-bootstrap 3 1.2.3 7\n");
    for (const char* other : {"", "Welcome", "udtx-bootstrap", "udtx-bootstrap x 1 1", " udtx-bootstrap 1 1 1"}) {
        CHECK_FALSE(parse_greeting(other));
    }
}
