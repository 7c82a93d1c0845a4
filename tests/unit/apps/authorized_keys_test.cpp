#include "serve/access.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

PublicKey key_of(int fill) {
    PublicKey key;
    key.bytes.fill(static_cast<std::byte>(fill));
    return key;
}

std::string error_of(const std::string& line) {
    const auto parsed = AuthorizedKeys::parse("# one\n" + line + "\n", "keys");
    return parsed ? "" : parsed.error().message;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("options before a key give it a directory, rights, a rate and a quota") {
    const std::string text = "# who may what\n\n" + key_of(1).to_string() + "\n" +
                             "dir=\"a/b c\",write,rate=\"200M\",quota=\"100G\" " + key_of(2).to_string() +
                             " bob at the lab\r\n" + "  read  " + key_of(3).to_string() + "\n";
    const auto keys = AuthorizedKeys::parse(text, "keys");
    REQUIRE(keys);
    CHECK(keys->all().size() == 3);
    const KeyRights* all = keys->find(key_of(1));
    REQUIRE(all != nullptr);
    CHECK((all->read && all->write && all->directory.empty() && all->rate.is_infinite()));
    const KeyRights* bob = keys->find(key_of(2));
    REQUIRE(bob != nullptr);
    CHECK(bob->directory == "a/b c");
    CHECK(bob->write);
    CHECK_FALSE(bob->read);
    CHECK(bob->rate.bps() == 200e6);
    CHECK(bob->quota == 100'000'000'000);
    CHECK(all->quota == 0);
    CHECK(bob->name == "bob at the lab");
    const KeyRights* reader = keys->find(key_of(3));
    REQUIRE(reader != nullptr);
    CHECK(reader->read);
    CHECK_FALSE(reader->write);
    CHECK(keys->find(key_of(4)) == nullptr);
}

TEST_CASE("a wrong line is named, and nothing of the file counts") {
    const std::string key = key_of(1).to_string();
    CHECK(has(error_of("wirte " + key), "keys, line 2: the option 'wirte' is unknown"));
    CHECK(has(error_of("rate=\"fast\" " + key), "'fast'"));
    CHECK(has(error_of("rate=5M " + key), "quotation marks"));
    CHECK(has(error_of("quota " + key), "'quota' is unknown"));
    for (const std::string value : {"", "0", "0G", "-1", "1x", "much", "99999999999999999999", "99999999T"}) {
        INFO(value);
        CHECK(has(error_of("quota=\"" + value + "\" " + key), "keys, line 2: quota=\"" + value + "\" is not a size"));
    }
    CHECK(has(error_of("dir=\"x " + key), "no closing quotation mark"));
    CHECK(has(error_of("dir=\"/etc\" " + key), "below"));
    CHECK(has(error_of("dir=\"a/../..\" " + key), "below"));
    CHECK(has(error_of("write"), "blank between the options and the key"));
    CHECK(has(error_of("write udtx-ed25519 short"), "not a public key"));
    CHECK(has(error_of(key + "\n" + key), "line 3: this key is listed twice"));
}

TEST_CASE("a file that is not there is a file error") {
    const auto none = AuthorizedKeys::load("/nonexistent/keys");
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::file_io);
}
