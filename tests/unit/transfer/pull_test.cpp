// The request of a receiver that connects: its messages, and the search for its sources below a directory.
#include <unistd.h>

#include <utility>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/source/source_tree.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

PullWish wish_for(std::vector<std::string> sources) {
    PullWish wish;
    wish.what.sources = std::move(sources);
    return wish;
}

bool takes(PullRequest& request, const Message& message) { return request.add(message).ok(); }
/// Whether the message is accepted as the first of a request.
bool begins(const Message& message) {
    PullRequest request;
    return takes(request, message);
}

/// Adds the messages as they come on the wire.
bool adds(PullRequest& request, const std::vector<Message>& messages) {
    MessageWriter out;
    for (const Message& message : messages) out.put(message);
    return request.add_all(out.bytes()).ok();
}
ErrorCode code_of(const Result<ConfinedSources>& found) { return found ? ErrorCode::internal : found.error().code; }

}  // namespace

TEST_CASE("a request means the same at the other side, however many names it has") {
    PullWish wish = wish_for({"a b/", "c"});
    wish.what.preserve = wish.what.erase = wish.what.attributes = wish.what.hard_links = true;
    wish.what.dry_run = true;
    wish.what.links = LinkChoice::safe;
    wish.what.overwrite = Overwrite::never;
    wish.what.hash = HashAlgorithm::sha256;
    wish.transfer = 77;
    REQUIRE(wish.what.rules.add({true, "*.keep"}).ok());
    REQUIRE(wish.what.rules.add({false, "/c/*"}).ok());
    wish.what.names.emplace();
    for (int i = 0; i < 3000; ++i) wish.what.names->push_back("dir/name number " + std::to_string(i));
    const auto messages = messages_of(wish);
    REQUIRE(messages.ok());
    PullRequest request;
    REQUIRE(adds(request, *messages));
    const PullWish& same = request.wish();
    CHECK(same.what.sources == wish.what.sources);
    CHECK(same.what.names == wish.what.names);
    CHECK(same.what.rules.list().size() == 2);
    CHECK(same.what.rules.excludes("c/x", false));
    CHECK(same.what.links == LinkChoice::safe);
    CHECK(same.what.hard_links);
    CHECK(same.what.overwrite == Overwrite::never);
    CHECK(same.what.hash == HashAlgorithm::sha256);
    CHECK(same.transfer == 77);
    CHECK((same.what.preserve && same.what.erase && same.what.attributes && same.what.dry_run));
    CHECK((!same.what.owner && !same.what.sparse && !same.what.by_digest && !same.stream));
}

TEST_CASE("a request for a part of a tree says which, and may delete nothing") {
    PullWish wish = wish_for({"a"});
    wish.what.part = PathRange{"a/b", ""};
    const auto messages = messages_of(wish);
    REQUIRE(messages.ok());
    PullRequest request;
    REQUIRE(adds(request, *messages));
    REQUIRE(request.wish().what.part);
    CHECK(request.wish().what.part->from == "a/b");
    CHECK(request.wish().what.part->to.empty());
    message::Pull pull;
    pull.what.sources = {"a"};
    pull.what.part.emplace();
    CHECK(begins(pull));
    pull.what.erase = true;
    CHECK_FALSE(begins(pull));
    pull.what.erase = false;
    pull.mode = TransferMode::stream;
    CHECK_FALSE(begins(pull));
}

TEST_CASE("a request out of order or beyond its bounds is refused") {
    CHECK_FALSE(begins(message::Rules{}));
    CHECK_FALSE(begins(message::Names{{"a"}}));
    CHECK_FALSE(begins(message::Offer{}));
    message::Pull pull;
    CHECK_FALSE(begins(pull));  // it asks for nothing
    pull.what.sources = {"a"};
    PullRequest twice;
    CHECK(takes(twice, pull));
    CHECK_FALSE(takes(twice, pull));
    CHECK_FALSE(takes(twice, message::Names{{"a"}}));  // the request said that it has no list of names
    message::Pull newer = pull;
    ++newer.version;
    CHECK(begins(newer));
    message::Pull older = pull;
    older.version = kOldestTransferVersion - 1;
    CHECK_FALSE(begins(older));
    pull.what.names.emplace();
    PullRequest named;
    REQUIRE(takes(named, pull));
    CHECK(takes(named, message::Names{{"a/b", "./c"}}));
    CHECK_FALSE(takes(named, message::Names{{"a/../../b"}}));
    const message::Names block{std::vector<std::string>(15, std::string(4000, 'n'))};
    int taken = 0;
    while (taken < 1000 && takes(named, block)) ++taken;
    CHECK(taken > 500);
    CHECK(taken < 600);
    pull.mode = TransferMode::stream;
    PullRequest refused;
    CHECK_FALSE(takes(refused, pull));
    CHECK_FALSE(refused.begun());  // a refused request leaves no state
    CHECK_FALSE(takes(refused, message::Names{{"a"}}));
    CHECK_FALSE(messages_of(wish_for(std::vector<std::string>(kMaxPullSources + 1, "x"))).ok());
    CHECK_FALSE(messages_of(wish_for(std::vector<std::string>(200, std::string(200, 'x')))).ok());
}

TEST_CASE("sources are found below the directory and nowhere else") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "base/dir/sub");
    fs::create_directories(temp / "other");
    write_file(temp / "base/dir/file", "x");
    write_file(temp / "base/dir/.f.udtx-0123456789abcdef.part", "x");
    write_file(temp / "other/file", "x");
    fs::create_symlink("../other", temp / "base/out");
    fs::create_symlink("dir", temp / "base/in");
    const std::string place = (temp / "base").string();
    for (const auto resolve : {ConfinedDir::Resolve::best, ConfinedDir::Resolve::by_component}) {
        const auto base = ConfinedDir::open(place, resolve);
        REQUIRE(base.ok());
        const auto find = [&](const std::vector<std::string>& sources, bool stream = false) {
            return open_sources_below(*base, sources, stream);
        };
        for (const char* path : {"..", "../other/file", "dir/../../other", "/../other", "dir/.."}) {
            CHECK(code_of(find({path})) == ErrorCode::refused);
        }
        for (const char* path : {"out/file", "in/file", "none", "dir/none", "dir/file/x", "out/", "/etc/passwd",
                                 "dir/.f.udtx-0123456789abcdef.part"}) {
            CHECK(code_of(find({path})) == ErrorCode::file_io);
        }
        CHECK(code_of(find({"dir", "in/../dir"})) == ErrorCode::refused);
        CHECK(find({"dir/file", "//dir//file"}).ok());  // the same name twice
        const auto shape = [&](const char* path) {
            const auto found = find({path});
            return found ? found->shape : SourceShape::stream;
        };
        CHECK(shape("dir") == SourceShape::directory);
        CHECK(shape("/dir/./sub") == SourceShape::directory);
        CHECK(shape("dir/") == SourceShape::contents);
        CHECK(shape("dir/.") == SourceShape::contents);
        CHECK(shape("") == SourceShape::contents);
        CHECK(shape("dir/file") == SourceShape::file);
        CHECK(shape("out") == SourceShape::file);  // the link itself
        const auto some = find({"dir/file", "none"});
        REQUIRE(some.ok());
        CHECK(some->roots.size() == 1);
        CHECK(some->shape == SourceShape::several);
        REQUIRE(some->missing.size() == 1);
        CHECK(some->missing.front().path == "none");
        const auto stream = find({"dir/file"}, true);
        REQUIRE(stream.ok());
        CHECK(static_cast<bool>(stream->stream));
        CHECK(code_of(find({"dir"}, true)) == ErrorCode::file_io);
        CHECK(code_of(find({"out"}, true)) == ErrorCode::file_io);
    }
}
