// The golden file of the messages of a transfer.
#include <string>
#include <utility>
#include <vector>

#include "compat/golden.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "transfer/message/message_codec.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

Digest digest_of(std::uint8_t fill, std::size_t size = 16) {
    return Digest(std::vector<std::byte>(size, std::byte{fill}));
}

const JobShard kShard{.job = 0x0123456789abcdef,
                      .index = 3,
                      .count = 4096,
                      .split = 42,
                      .bits_per_second = 400'000'000,
                      .selection = 5,
                      .run = ~0ULL,
                      .delivered_run = 8,
                      .content = ShardContent{7, 1ULL << 40U, 9}};

message::Offer offer() {
    message::Offer m;
    m.preserve = m.sparse = m.set_id = true;
    m.hash = HashAlgorithm::sha256;
    m.destination = {"some", "place"};
    m.transfer = 0x0123456789abcdef;
    return m;
}

message::Offer offer_of_shard() {
    message::Offer m;
    m.mode = TransferMode::stream;
    m.owner = m.dry_run = m.erase = m.by_digest = true;
    m.overwrite = Overwrite::always;
    m.shard = kShard;
    return m;
}

message::Entry entry(std::uint64_t index, EntryType type, std::vector<std::string> path, std::uint32_t mode,
                     FileTime mtime, std::string target = {}) {
    message::Entry m;
    m.index = index;
    m.type = type;
    m.path = std::move(path);
    m.mode = mode;
    m.mtime = mtime;
    m.target = std::move(target);
    return m;
}

message::Entry file() {
    message::Entry m = entry(7, EntryType::file, {"d", "name\n"}, 0644, {-20'000'000'000, 999'999'999});
    m.size = 1ULL << 40U;
    m.whole = true;
    return m;
}

message::Entry part_of_file() {
    message::Entry m = entry(8, EntryType::file, {"d", "cut"}, 0600, {1'700'000'000, 5});
    m.size = 1ULL << 40U;
    m.sparse = true;
    m.part = FileRange{kCutBytes, 77};
    return m;
}

message::Query query() {
    message::Query m;
    m.number = 3;
    m.path = {"d", "name"};
    m.size = 5'000'000;
    m.mtime = {20'000'000'000, 7};
    m.mode = 0640;
    m.part = FileRange{kCutBytes, 99};
    return m;
}

message::Query query_of_dry_run() {
    message::Query m;
    m.number = 4;
    m.path = {"d"};
    m.mtime = {1, 0};
    m.mode = 0755;
    m.has_owner = m.has_attributes = true;
    m.user = 1000;
    m.group = 100;
    m.attributes = 0x1234;
    return m;
}

message::Pull pull() {
    message::Pull m;
    m.transfer = 42;
    m.what.preserve = m.what.sparse = m.what.erase = m.what.attributes = true;
    m.what.names.emplace();
    m.what.links = LinkChoice::safe;
    m.what.hash = HashAlgorithm::sha256;
    m.what.overwrite = Overwrite::always;
    m.what.sources = {"a b", "c/"};
    m.what.part = PathRange{"a b/x", "c/y", kCutBytes, 0};
    return m;
}

message::Pull pull_of_shard() {
    message::Pull m;
    m.mode = TransferMode::stream;
    m.what.owner = m.what.dry_run = m.what.by_digest = m.what.hard_links = m.what.into_named = m.what.set_id = true;
    m.what.links = LinkChoice::skip;
    m.what.overwrite = Overwrite::never;
    m.what.sources = {"x"};
    m.what.shard = kShard;
    return m;
}

std::vector<std::pair<std::string, Message>> messages() {
    return {
        {"OFFER", offer()},
        {"OFFER of a shard", offer_of_shard()},
        {"ENTRY of a file", file()},
        {"ENTRY of a part of a file", part_of_file()},
        {"ENTRY of a directory", entry(6, EntryType::directory, {"d"}, 02775, {1'700'000'000, 0})},
        {"ENTRY of a symbolic link", entry(9, EntryType::symlink, {"l"}, 0, {}, "../x")},
        {"ENTRY of a hard link", entry(10, EntryType::hard_link, {"d", "twin"}, 0, {}, "d/name")},
        {"EXTENTS", message::Extents{7, {{0, 5}, {1ULL << 30U, 4096}}}},
        {"DIGESTS", message::Digests{7, 3, {digest_of(1), digest_of(2)}}},
        {"FILE_END", message::FileEnd{7, FileStatus::ok, digest_of(9, 32)}},
        {"FILE_END of an unreadable file", message::FileEnd{8, FileStatus::unreadable, {}, 13}},
        {"FINISH", message::Finish{11, 123456789, 2, digest_of(3)}},
        {"KEPT", message::Kept{7, {{1ULL << 20U, 3ULL << 20U}}}},
        {"QUERY", query()},
        {"QUERY of a dry run", query_of_dry_run()},
        {"META", message::Meta{7, true, true, 1000, 0xffffffff, {{"user.a", std::string("x\0y", 3)}, {"user.b", ""}}}},
        {"RULES", message::Rules{true, {{true, "*.o"}, {false, "/cache/"}}}},
        {"PLAN", message::Plan{{PlannedEntry::Kind::update, EntryType::file, change::kSize | change::kTime, "d/name",
                                1ULL << 40U}}},
        {"SOURCES", message::Sources{SourceShape::contents, {{"gone", "No such file or directory"}}}},
        {"UNSENT", message::Unsent{{"a/fifo", "link"}}},
        {"FOUND", message::Found{1000, 1ULL << 50U, true}},
        {"PATHS", message::Paths{{{PathId{0}, 1ULL << 40U, 70'000, 71'234, Rate::bits_per_second(9e9), 8932},
                                  {PathId{255}, 1, 0, 0, Rate(), 0}}}},
        {"ACCEPT", message::Accept{}},
        {"FILE_FAILED", message::FileFailed{7, 4, "d/name", "no room"}},
        {"DELIVERED", message::Delivered{{5, 1, 0, 99999, 100000, 2, 0, 0, 0, 5, 0}}},
        {"CONFIRM", message::Confirm{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, digest_of(4)}},
        {"STOPPED", message::Stopped{1, "interrupted", {6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0}}},
        {"RESUME", message::Resume{true, "damaged at byte 9", false, true}},
        {"ANSWER",
         message::Answer{
             3, Holding::last_pieces, 1, {{1ULL << 20U, 4096, digest_of(5)}}, change::kSize | change::kTime}},
        {"LOAD", message::Load{1000, 7}},
        {"CAP", message::Cap{50'000'000}},
        {"ERASED", message::Erased{{"old/file", "old"}}},
        {"PULL", pull()},
        {"PULL of a shard", pull_of_shard()},
        {"NAMES", message::Names{{"a/b", "c\n"}}},
        {"UNSET", message::Unset{{Belonging::time, 60, 2, 1, "a/b", "Invalid argument"}}},
        {"NOTE", message::Note{"the time of 3 entries could not be preserved"}},
        {"SHARE", message::Share{400'000}},
        {"JOB", message::Job{0xfedcba9876543210, 12, 3}},
    };
}

std::string written(const Message& message) {
    MessageWriter out;
    out.put(message);
    return test::to_hex(out.bytes());
}

}  // namespace

TEST_CASE("each message of 0.2 is read and written") {
    auto golden = test::golden_map("messages.txt");
    std::vector<bool> seen(std::variant_size_v<Message>);
    for (const auto& [name, expected] : messages()) {
        INFO(name);
        const auto bytes = golden.at(name);
        golden.erase(name);
        MessageReader reader;
        reader.feed(bytes);
        const auto message = reader.next();
        REQUIRE(message.ok());
        REQUIRE(message->has_value());
        CHECK((*message)->index() == expected.index());
        // Equal values have equal bytes, and other values have others.
        CHECK(written(**message) == test::to_hex(bytes));
        CHECK(written(expected) == test::to_hex(bytes));
        seen[expected.index()] = true;
    }
    CHECK(golden.empty());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        INFO("message " << i << " of Message");
        CHECK(seen[i]);
    }
}

TEST_CASE("some fields of 0.2 mean what they meant") {
    const auto golden = test::golden_map("messages.txt");
    const auto read = [&](const std::string& name) {
        MessageReader reader;
        reader.feed(golden.at(name));
        return reader.next().value().value();
    };
    const auto cut = std::get<message::Entry>(read("ENTRY of a part of a file"));
    CHECK((cut.sparse && !cut.whole && cut.part == FileRange{kCutBytes, 77} && cut.mode == 0600));
    const auto wish = std::get<message::Pull>(read("PULL of a shard"));
    CHECK((wish.what.owner && wish.what.set_id && !wish.what.erase && !wish.what.part && wish.what.shard == kShard));
    const auto run = std::get<message::Offer>(read("OFFER of a shard"));
    CHECK((run.erase && run.dry_run && !run.preserve && run.shard == kShard && run.overwrite == Overwrite::always));
    const auto totals = std::get<message::Confirm>(read("CONFIRM")).totals;
    CHECK((totals.written_bytes == 5 && totals.failures == 6 && totals.unchanged_directories == 11));
}
