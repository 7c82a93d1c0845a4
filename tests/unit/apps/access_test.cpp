// What a client may do in a server's directory, by the server's flags and by the rights of the client's key.
#include "serve/access.hpp"

#include <unistd.h>

#include <string>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace udtx::test;
using transfer::Client;

namespace {

struct AccessBench {
    AccessBench() {
        command.directory = (temp / "dir").string();
        fs::create_directories(temp / "dir/alice");
    }
    [[nodiscard]] Access access() { return {command, keys}; }
    /// A client whose key has a line with these options.
    [[nodiscard]] Client with(const std::string& options) {
        auto parsed = AuthorizedKeys::parse(options + " udtx-ed25519 " + std::string(43, 'A') + "= bob", "keys");
        REQUIRE(parsed.ok());
        keys = std::move(*parsed);
        return {.number = 1, .key = keys.all().begin()->first, .identity = 7};
    }

    TemporaryDirectory temp;
    RecvCommand command;
    AuthorizedKeys keys;
};

}  // namespace

TEST_CASE("Whoever has the shared key may send, and may fetch where the server allows it") {
    AccessBench b;
    const Access access = b.access();
    const auto push = access.push({});
    REQUIRE(push.ok());
    CHECK(push->directory == b.command.directory);
    CHECK(push->below.empty());
    CHECK(push->whose == 0);
    CHECK(push->resume);
    CHECK_FALSE(push->stream_fd);
    CHECK(access.name_of({}).empty());
    CHECK(access.rate_of({}).is_infinite());
    const auto refused = access.pull({});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::refused);
    b.command.allow_read = true;
    REQUIRE(access.pull({}).ok());
    CHECK((*access.pull({})).directory == b.command.directory);
    b.command.streaming = true;
    CHECK_FALSE(access.pull({}).ok());
    CHECK((*access.push({})).stream_fd == STDOUT_FILENO);
    CHECK(access.place_of({}).empty());
}

TEST_CASE("A key opens its own directory, with what its rights name") {
    AccessBench b;
    const Client bob = b.with("dir=\"alice\",rate=\"8M\"");
    const Access access = b.access();
    const auto push = access.push(bob);
    REQUIRE(push.ok());
    CHECK(push->below == "alice");
    CHECK(push->whose == 7);
    REQUIRE(access.pull(bob).ok());
    CHECK((*access.pull(bob)).below == "alice");
    CHECK(access.name_of(bob) == " (bob)");
    CHECK(access.place_of(bob) == b.command.directory + "/alice");
    CHECK(access.rate_of(bob).bps() == 8e6);
}

TEST_CASE("A key does no more than its rights name") {
    AccessBench b;
    const Client reader = b.with("read");
    CHECK(b.access().pull(reader).ok());
    REQUIRE_FALSE(b.access().push(reader).ok());
    CHECK(b.access().push(reader).error().code == ErrorCode::refused);
    const Client writer = b.with("write");
    CHECK(b.access().push(writer).ok());
    REQUIRE_FALSE(b.access().pull(writer).ok());
    CHECK(b.access().pull(writer).error().code == ErrorCode::refused);
}

TEST_CASE("Nothing is written to a directory that took the place of the one that the sandbox knows") {
    AccessBench b;
    Access access = b.access();
    access.note_places({b.command.directory});
    CHECK(access.push({}).ok());
    fs::rename(b.temp / "dir", b.temp / "old");
    fs::create_directories(b.temp / "dir");
    REQUIRE_FALSE(access.push({}).ok());
    CHECK(access.push({}).error().code == ErrorCode::refused);
}

TEST_CASE("All transfers of one key share its quota") {
    AccessBench b;
    const Client bob = b.with("quota=\"1M\",write");
    const Access access = b.access();
    const auto one = access.push(bob);
    const auto other = access.push(bob);
    REQUIRE(one.ok());
    REQUIRE(other.ok());
    REQUIRE(one->quota.has_value());
    CHECK(one->quota == other->quota);
    CHECK_FALSE((*access.push({})).quota.has_value());
}

TEST_CASE("With other keys a client has its new rights, and a removed key has none") {
    AccessBench b;
    const Client bob = b.with("quota=\"1M\",dir=\"alice\",write");
    Access access = b.access();
    const auto before = access.push(bob);
    REQUIRE(before.ok());
    SECTION("the quota's account stays with its key") {
        static_cast<void>(b.with("quota=\"1M\",dir=\"alice\",read,write,rate=\"8M\""));
        access.set_keys(b.keys);
        CHECK(access.pull(bob).ok());
        CHECK(access.rate_of(bob).bps() == 8e6);
        CHECK((*access.push(bob)).quota == before->quota);
    }
    SECTION("another quota is another account") {
        static_cast<void>(b.with("quota=\"2M\",dir=\"alice\",write"));
        access.set_keys(b.keys);
        CHECK((*access.push(bob)).quota != before->quota);
    }
    SECTION("a removed key is not a client of a server with a pre-shared key") {
        access.set_keys({});
        REQUIRE_FALSE(access.push(bob).ok());
        CHECK(access.push(bob).error().code == ErrorCode::authentication);
        REQUIRE_FALSE(access.pull(bob).ok());
        CHECK(access.pull(bob).error().code == ErrorCode::authentication);
        CHECK(access.place_of(bob).empty());
        CHECK(access.name_of(bob) == " (" + bob.key->to_string() + ")");
    }
}

TEST_CASE("A directory that no key could write at the start stays closed") {
    AccessBench b;
    fs::create_directories(b.temp / "dir/carol/sub");
    const Client carol = b.with("dir=\"carol\",write");
    Access access = b.access();
    SECTION("others could write elsewhere") { access.note_places({b.command.directory + "/alice"}); }
    SECTION("nobody could write") { access.note_places({}); }
    REQUIRE_FALSE(access.push(carol).ok());
    CHECK(access.push(carol).error().code == ErrorCode::refused);
    b.command.streaming = true;  // writes to no directory
    CHECK(access.push(carol).ok());
    b.command.streaming = false;
    Access open = b.access();
    open.note_places({b.command.directory});
    CHECK(open.push(carol).ok());
}
