#include "transfer/message/message_codec.hpp"

#include <string>

#include "test/catch.hpp"
#include "transfer/names.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

Digest digest_of(std::uint8_t fill, std::size_t size) { return Digest(std::vector<std::byte>(size, std::byte{fill})); }

message::Offer sample_offer() {
    message::Offer offer;
    offer.mode = TransferMode::stream;
    offer.preserve = true;
    offer.hash = HashAlgorithm::sha256;
    offer.destination = {"some", "place"};
    offer.transfer = 0x0123456789abcdefULL;
    offer.overwrite = Overwrite::never;
    offer.owner = offer.erase = offer.by_digest = true;
    return offer;
}

message::Pull sample_pull() {
    message::Pull pull;
    pull.mode = TransferMode::stream;
    pull.preserve = pull.sparse = pull.erase = pull.attributes = pull.named = true;
    pull.links = LinkChoice::safe;
    pull.hash = HashAlgorithm::sha256;
    pull.overwrite = Overwrite::always;
    pull.transfer = 42;
    pull.sources = {"a b", "c/"};
    pull.part = PathRange{"a b/x", std::string(kMaxPathBytes, 'y')};
    return pull;
}

message::Offer shard_offer() {
    message::Offer offer = sample_offer();
    offer.shard = JobShard{0x0123456789abcdef, 3, 4096, 42, 400'000'000, 5, ~0ULL, 8, ShardContent{7, ~0ULL, 9}};
    return offer;
}

std::vector<Message> samples() {
    message::Entry file;
    file.index = 7;
    file.path = {"d", "name\n"};
    file.mode = 0644;
    file.mtime = {-20'000'000'000, 999'999'999};  // in the year 1336
    file.size = 1ULL << 40U;
    file.sparse = true;
    message::Entry link;
    link.type = EntryType::symlink;
    link.path = {"l"};
    link.target = "../x";
    message::Entry directory;
    directory.type = EntryType::directory;
    directory.path = {"d"};
    message::Entry twin;
    twin.type = EntryType::hard_link;
    twin.path = {"d", "twin"};
    twin.target = "d/name";
    message::Entry part = file;
    part.whole = false;
    part.part = FileRange{kCutBytes, 77};
    return {sample_offer(),
            twin,
            message::Meta{7, true, true, 1000, 0xffffffff, {{"user.a", std::string("x\0y", 3)}, {"user.b", ""}}},
            message::Rules{true, {{true, "*.o"}, {false, "/cache/"}}},
            message::Erased{{"old/file", "old"}},
            file,
            link,
            directory,
            message::Extents{7, {{0, 5}, {1ULL << 30U, 4096}}},
            message::Digests{7, 3, {digest_of(1, 16), digest_of(2, 16)}},
            message::FileEnd{7, FileStatus::ok, digest_of(9, 32)},
            message::FileEnd{8, FileStatus::changed, {}},
            message::FileEnd{8, FileStatus::unreadable, {}, 13},
            message::Finish{9, 123456789, 2, digest_of(3, 16)},
            message::FileEnd{10, FileStatus::kept, {}},
            message::Kept{7, {{1ULL << 20U, 3ULL << 20U}}},
            message::Query{3, {"d", "name"}, 5'000'000, {20'000'000'000, 7}, 0640},
            message::Query{5, {"d"}, 3 * kCutBytes, {1, 0}, 0755, false, false, 0, 0, 0, FileRange{kCutBytes, 99}},
            shard_offer(),
            part,
            message::Query{4, {"d"}, 0, {1, 0}, 0755, true, true, 1000, 100, 0x1234},
            message::Resume{true, "damaged at byte 9", false, true},
            message::Answer{
                3, Holding::last_pieces, 1, {{1ULL << 20U, 4096, digest_of(5, 16)}}, change::kSize | change::kTime},
            message::Found{1000, 1ULL << 50U, true},
            message::Paths{{{PathId{0}, 1ULL << 40U, 70'000, 71'234, Rate::bits_per_second(9e9), 8932},
                            {PathId{255}, 1, 0, 0, Rate(), 0}}},
            message::Note{"the time of 3 entries could not be preserved"},
            message::Load{1000, 7},
            message::Cap{50'000'000},
            message::Share{400'000},
            message::Job{~0ULL, 4096, 3},
            message::Accept{1},
            message::Plan{
                {PlannedEntry::Kind::update, EntryType::file, change::kSize | change::kTime, "d/name", 1ULL << 40U}},
            message::Plan{{PlannedEntry::Kind::make, EntryType::symlink, change::kNew, "l", 0, "../x"}},
            message::Sources{SourceShape::contents, {{"gone", "No such file or directory"}}},
            sample_pull(),
            message::Names{{"a/b", "c\n"}},
            message::Unset{{Belonging::time, 60, 2, 1, "a/b", "Invalid argument"}},
            message::Unsent{{"a/fifo", "link"}},
            message::FileFailed{7, 4, "d/name", "no room"},
            message::Delivered{{5, 1, 0, 99999, 100000, 2}},
            message::Confirm{{1, 2, 3, 4, 5, 6, 7, 8, 9}, digest_of(4, 16)},
            message::Stopped{1, "interrupted", {6, 5, 4, 3, 2, 1}}};
}

std::vector<std::byte> encode(const Message& message) {
    MessageWriter out;
    out.put(message);
    return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace

TEST_CASE("messages survive the stream in any cut") {
    MessageWriter out;
    for (const Message& m : samples()) out.put(m);
    const std::vector<std::byte> all(out.bytes().begin(), out.bytes().end());
    for (const std::size_t cut : {std::size_t{1}, std::size_t{7}, all.size()}) {
        MessageReader reader;
        std::vector<Message> seen;
        for (std::size_t at = 0; at < all.size(); at += cut) {
            reader.feed(std::span(all).subspan(at, std::min(cut, all.size() - at)));
            for (;;) {
                auto next = reader.next();
                REQUIRE(next.ok());
                if (!next->has_value()) break;
                seen.push_back(**next);
            }
        }
        REQUIRE(seen.size() == samples().size());
        for (std::size_t i = 0; i < seen.size(); ++i) CHECK(encode(seen[i]) == encode(samples()[i]));
    }
}

TEST_CASE("fields arrive as they were sent") {
    const auto bytes = encode(samples()[5]);
    MessageReader reader;
    reader.feed(bytes);
    auto next = reader.next();
    REQUIRE(next.ok());
    REQUIRE(next->has_value());
    const auto& entry = std::get<message::Entry>(**next);
    CHECK(entry.index == 7);
    CHECK(entry.path == std::vector<std::string>{"d", "name\n"});
    CHECK(entry.mtime == FileTime{-20'000'000'000, 999'999'999});
    CHECK(entry.size == 1ULL << 40U);
    CHECK(entry.sparse);
    CHECK_FALSE(entry.whole);
}

TEST_CASE("truncated and lengthened bodies are malformed") {
    for (const Message& sample : samples()) {
        const auto framed = encode(sample);
        const std::size_t prefix = framed.size() < 65 ? 1 : 2;
        const auto body = std::span(framed).subspan(prefix);
        REQUIRE(parse_message(body).ok());
        for (std::size_t n = 0; n < body.size(); ++n) CHECK_FALSE(parse_message(body.first(n)).ok());
        std::vector<std::byte> longer(body.begin(), body.end());
        longer.push_back(std::byte{0});
        CHECK_FALSE(parse_message(longer).ok());
    }
}

TEST_CASE("values beyond their bounds are malformed") {
    const auto parse = [](std::initializer_list<int> values) {
        std::vector<std::byte> body;
        for (const int v : values) body.push_back(static_cast<std::byte>(v));
        return parse_message(body).ok();
    };
    CHECK_FALSE(parse({99}));  // unknown type
    CHECK(parse({2, 0, 0, 1, 1, 'd', 0x41, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK_FALSE(parse({2, 0, 4, 1, 1, 'd', 0x41, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0}));  // entry type 4
    CHECK_FALSE(parse({2, 0, 0, 1, 1, 'd', 0x50, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0}));  // mode 010000
    CHECK(parse({2, 0, 0, 1, 1, 'd', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbb, 0x9a, 0xc9, 0xff}));
    CHECK_FALSE(parse({2, 0, 0, 1, 1, 'd', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbb, 0x9a, 0xca, 0x00}));  // 10^9 nanoseconds
    CHECK(parse({8, 0, 1, 1, 'd', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbb, 0x9a, 0xc9, 0xff, 0, 0}));
    CHECK_FALSE(parse({8, 0, 1, 1, 'd', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbb, 0x9a, 0xca, 0x00, 0, 0}));
    CHECK_FALSE(parse({5, 0, 0, 3, 1, 2, 3}));  // a digest of 3 bytes
    CHECK_FALSE(parse({3, 0, 0x44, 0x01}));     // 1025 extents
    CHECK_FALSE(parse({5, 0, 5, 0}));           // file status 5
    CHECK_FALSE(parse({23, 0x43, 0xe9, 0}));    // 1001 thousandths
    CHECK_FALSE(parse({22, 0, 8, 0, 0, 0}));    // holding 8
    CHECK(parse({9, 0, 0, 0, 0, 1, 1, 'n', 1, 'v'}));
    CHECK_FALSE(parse({9, 0, 0, 0, 0, 1, 1, 0, 1, 'v'}));  // a NUL in the name of an attribute
    CHECK_FALSE(parse({9, 0, 0, 0, 0, 0x40, 65}));         // 65 attributes
    CHECK_FALSE(parse({10, 0, 0x44, 0x01}));               // 1025 rules
    CHECK_FALSE(parse({10, 2, 0}));                        // neither true nor false
    CHECK_FALSE(parse({14, 1, 1, 2}));                     // neither true nor false
    CHECK_FALSE(parse({25, 0x44, 0x01}));                  // 1025 names
}

TEST_CASE("an offer of another version is understood as far as its number") {
    const std::vector<std::byte> body{std::byte{1}, std::byte{1}, std::byte{0xff}, std::byte{0xff}};
    auto parsed = parse_message(body);
    REQUIRE(parsed.ok());
    CHECK(std::get<message::Offer>(*parsed).version == 1);
}

TEST_CASE("an oversized length is refused before its bytes are held") {
    MessageReader reader;
    const std::vector<std::byte> prefix{std::byte{0x80}, std::byte{0x02}, std::byte{0}, std::byte{0}};
    reader.feed(prefix);
    CHECK_FALSE(reader.next().ok());
}
