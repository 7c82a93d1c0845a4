// Who may do what in a server's directory, by the flags and by the rights of a key.
#include "serve/access.hpp"

#include <string>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace udtx::test;

namespace {

struct Bench {
    Bench() {
        command.directory = (temp / "dir").string();
        fs::create_directories(temp / "dir/alice");
        write_file((temp / "dir/alice/file").string(), "x");
    }
    [[nodiscard]] Access access() { return {command, keys, nullptr}; }
    [[nodiscard]] static Visitor with(const KeyRights& rights) { return {.rights = &rights, .key = 7, .name = ""}; }

    TemporaryDirectory temp;
    RecvCommand command;
    AuthorizedKeys keys;
};

transfer::PullWish wish_for(const std::string& name) {
    transfer::PullWish wish;
    wish.what.sources = {name};
    return wish;
}

}  // namespace

TEST_CASE("Whoever has the shared key may send, and may fetch where the server allows it") {
    Bench b;
    const Access access = b.access();
    const auto push = access.push({});
    REQUIRE(push.ok());
    CHECK(push->directory == b.command.directory);
    CHECK(push->below.empty());
    CHECK(push->resume);
    const auto refused = access.pull({}, wish_for("alice/file"));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::refused);
    b.command.allow_read = true;
    CHECK(access.pull({}, wish_for("alice/file")).ok());
    b.command.to_stdout = true;
    CHECK_FALSE(access.pull({}, wish_for("alice/file")).ok());
    CHECK(access.place_of({}).empty());
}

TEST_CASE("A key opens its own directory, and what its rights name") {
    Bench b;
    const Access access = b.access();
    KeyRights rights;
    rights.directory = "alice";
    const auto push = access.push(Bench::with(rights));
    REQUIRE(push.ok());
    CHECK(push->below == "alice");
    CHECK(push->whose == 7);
    CHECK(access.pull(Bench::with(rights), wish_for("file")).ok());
    rights.write = false;
    rights.read = false;
    REQUIRE_FALSE(access.push(Bench::with(rights)).ok());
    CHECK(access.push(Bench::with(rights)).error().code == ErrorCode::refused);
    CHECK(access.pull(Bench::with(rights), wish_for("file")).error().code == ErrorCode::refused);
}

TEST_CASE("Nothing is written to a directory that took the place of the one that the sandbox knows") {
    Bench b;
    Access access = b.access();
    access.note_places({b.command.directory});
    CHECK(access.push({}).ok());
    fs::rename(b.temp / "dir", b.temp / "old");
    fs::create_directories(b.temp / "dir");
    REQUIRE_FALSE(access.push({}).ok());
    CHECK(access.push({}).error().code == ErrorCode::refused);
}

TEST_CASE("All transfers of one key share its quota") {
    Bench b;
    const std::string key(43, 'A');
    auto parsed = AuthorizedKeys::parse("quota=\"1M\",write udtx-ed25519 " + key + "= bob", "keys");
    REQUIRE(parsed.ok());
    b.keys = std::move(*parsed);
    const Access access = b.access();
    const KeyRights& rights = b.keys.all().begin()->second;
    const auto one = access.push(Bench::with(rights));
    const auto other = access.push(Bench::with(rights));
    REQUIRE(one.ok());
    REQUIRE(other.ok());
    REQUIRE(one->room.quota != nullptr);
    CHECK(one->room.quota == other->room.quota);
    CHECK(access.push({})->room.quota == nullptr);
    const Visitor bob = access.visitor(b.keys.all().begin()->first.bytes);
    CHECK(bob.rights == &rights);
    CHECK(bob.name == " (bob)");
    CHECK(bob.key != 0);
}
