#include "transfer/message/message_codec.hpp"

#include <string>
#include <vector>

#include "test/bytes.hpp"
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
    pull.transfer = 42;
    Selection& what = pull.what;
    what.preserve = what.sparse = what.erase = what.attributes = true;
    what.names.emplace();
    what.links = LinkChoice::safe;
    what.hash = HashAlgorithm::sha256;
    what.overwrite = Overwrite::always;
    what.sources = {"a b", "c/"};
    what.part = PathRange{"a b/x", "c/y", kCutBytes};
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

/// samples() as they are sent: a length, a type and fields.
const std::vector<std::string> kSent{
    "1a010d0133020204736f6d6505706c6163650123456789abcdef00",
    "1c020003020164047477696e0000000000000000000006642f6e616d65",
    "2109070343e8c0000000ffffffff0206757365722e610378007906757365722e6200",
    "110a010201032a2e6f00072f63616368652f",
    "0f1902086f6c642f66696c65036f6c64",
    "23020701020164056e616d650a41a4fffffffb57e83800bb9ac9ffc00001000000000001",
    "1502000201016c00000000000000000000042e2e2f78",
    "1002000001016400000000000000000000",
    "0f0307020005c0000000400000005000",
    "260407030210010101010101010101010101010101011002020202020202020202020202020202",
    "24050700200909090909090909090909090909090909090909090909090909090909090909",
    "0405080100",
    "05050802000d",
    "180609875bcd15021003030303030303030303030303030303",
    "04050a0400",
    "0b0707018010000080300000",
    "1a0803020164046e616d65804c4b4000000004a817c8000741a000",
    "1b08050101648180000000000000000000010041ed04808000004063",
    "405b010d01b3020204736f6d6505706c6163650123456789abcdef000123456789abcdef035000000000000000002a97d784"
    "000000000000000005ffffffffffffffff00000000000000080107ffffffffffffffff0000000000000009",
    "29020701020164056e616d650a41a4fffffffb57e83800bb9ac9ffc0000100000000000580800000404d",
    "1e08040101640000000000000000010041ed0343e840640000000000001234",
    "1415051164616d6167656420617420627974652039",
    "1d160303010c018010000050001005050505050505050505050505050505",
    "0c0e43e8c00400000000000001",
    "230f0200c0000100000000008001117080011642c000000218711a0062e4ff0100000000",
    "2e1d2c7468652074696d65206f66203320656e747269657320636f756c64206e6f7420626520707265736572766564",
    "041743e807",
    "051882faf080",
    "051e80061a80",
    "0c1fffffffffffffffff500003",
    "021001",
    "140b01010c06642f6e616d65c00001000000000000",
    "0c0b020201016c00042e2e2f78",
    "220c020104676f6e65194e6f20737563682066696c65206f72206469726563746f7279",
    "271a0d014955010202000000000000002a020361206202632f056120622f7803632f798080000000",
    "091b0203612f6202630a",
    "1a1c023c020103612f6210496e76616c696420617267756d656e74",
    "0e0d0206612f6669666f046c696e6b",
    "1211070406642f6e616d65076e6f20726f6f6d",
    "12120501008001869f800186a0020000000000",
    "1d1301020304050607080900001004040404040404040404040404040404",
    "1914010b696e7465727275707465640605040302010000000000"};

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

TEST_CASE("the layout of each message stays") {
    const auto all = samples();
    REQUIRE(all.size() == kSent.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        INFO("sample " << i);
        CHECK(test::to_hex(encode(all[i])) == kSent[i]);
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

TEST_CASE("truncated bodies are malformed, and fields behind those that are known are skipped") {
    for (const Message& sample : samples()) {
        const auto framed = encode(sample);
        const std::size_t prefix = framed.size() < 65 ? 1 : 2;
        const auto body = std::span(framed).subspan(prefix);
        REQUIRE(parse_message(body).ok());
        for (std::size_t n = 0; n < body.size(); ++n) CHECK_FALSE(parse_message(body.first(n)).ok());
        std::vector<std::byte> longer(body.begin(), body.end());
        longer.push_back(std::byte{0});
        const auto parsed = parse_message(longer);
        REQUIRE(parsed.ok());
        CHECK(encode(*parsed) == framed);
    }
}

TEST_CASE("an unknown message is skipped, and a mandatory one names the release that knows it") {
    MessageReader reader;
    std::vector<std::byte> bytes{std::byte{2}, std::byte{100}, std::byte{1}};
    const auto known = encode(message::Note{"x"});
    bytes.insert(bytes.end(), known.begin(), known.end());
    bytes.insert(bytes.end(), {std::byte{3}, std::byte{128}, std::byte{3}, std::byte{0}});
    reader.feed(bytes);
    const auto first = reader.next();
    REQUIRE((first && first->has_value()));
    CHECK(std::holds_alternative<message::Note>(**first));
    const auto second = reader.next();
    REQUIRE_FALSE(second);
    CHECK(second.error().message.find("install udtx 0.3 or newer") != std::string::npos);
}

TEST_CASE("the type of the next message is that of the first one that is not skipped") {
    MessageReader reader;
    const std::vector<std::byte> skipped{std::byte{3}, std::byte{100}, std::byte{1}, std::byte{2}};
    const auto known = encode(message::Note{"x"});
    reader.feed(skipped);
    reader.feed(std::span(skipped).first(3));
    CHECK_FALSE(reader.next_type());
    reader.feed(std::span(skipped).last(1));
    CHECK_FALSE(reader.next_type());
    reader.feed(std::span(known).first(2));
    CHECK(reader.next_type() == message::Note::kType);
    reader.feed(std::span(known).subspan(2));
    const auto next = reader.next();
    REQUIRE((next && next->has_value()));
    CHECK(std::holds_alternative<message::Note>(**next));
    // A length of 0 or above the bound is an error of next(), and not a reason to wait.
    for (const std::vector<std::byte>& bad :
         {std::vector{std::byte{0}, std::byte{100}},
          {std::byte{0x80}, std::byte{1}, std::byte{0}, std::byte{1}, std::byte{100}}}) {
        MessageReader refuses;
        refuses.feed(bad);
        CHECK(refuses.next_type());
        CHECK_FALSE(refuses.next());
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
