// The messages between an end and the relay: written and read to the same, cut at each byte, of later releases.
#include <algorithm>
#include <string>

#include "rendezvous/messages.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using test::from_hex;
using test::from_text;
using test::to_hex;

namespace {

Token token_of(unsigned char first) {
    Token token{};
    for (std::size_t i = 0; i < token.size(); ++i) token[i] = static_cast<std::byte>(first + i);
    return token;
}

const Address kV4{Address::Family::v4, 7011, {192, 0, 2, 1}};
const Address kV6{Address::Family::v6, 65535, {0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};

const std::vector<Message>& samples() {
    static const std::vector<Message> all{Claim{},
                                          Claimed{1, 7, token_of(1), 3600},
                                          Join{1, 999'999},
                                          Joined{1, 3, token_of(200)},
                                          Left{2},
                                          Dismiss{2},
                                          Settled{255},
                                          Peer{1, from_text("sealed")},
                                          Peer{255, std::vector<std::byte>(kMaxPeerBytes)},
                                          Data{from_hex("4001")},
                                          Data{std::vector<std::byte>(kMaxDataBytes)},
                                          Close{CloseReasonCode::busy, "full"}};
    return all;
}

std::optional<Message> read(MessageReader& reader) {
    const auto message = reader.next();
    REQUIRE(message);
    return *message;
}

std::string refusal_of(std::span<const std::byte> bytes) {
    MessageReader reader;
    reader.feed(bytes);
    const auto message = reader.next();
    if (message) return "";
    CHECK(message.error().code == ErrorCode::protocol);
    CHECK_FALSE(reader.next());
    return message.error().message;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("each message of the rendezvous is written and read to the same") {
    for (const Message& message : samples()) {
        INFO(name_of(message));
        const auto bytes = encode(message);
        MessageReader reader;
        reader.feed(bytes);
        const auto again = read(reader);
        REQUIRE(again);
        CHECK(again->index() == message.index());
        CHECK(to_hex(encode(*again)) == to_hex(bytes));
        CHECK_FALSE(read(reader));
        CHECK(reader.pending() == 0);
    }
}

TEST_CASE("the layout of the messages stays as it is") {
    CHECK(to_hex(encode(Claim{})) ==
          "00040100"
          "02"
          "01");
    CHECK(to_hex(encode(Join{1, 7})) ==
          "0008030002"
          "01"
          "00000007");
    CHECK(to_hex(encode(Peer{1, from_text("ab")})) ==
          "0008080002"
          "01"
          "0002"
          "6162");
    CHECK(to_hex(encode(Data{from_text("ab")})) ==
          "0007090002"
          "0002"
          "6162");
    CHECK(to_hex(encode(Close{CloseReasonCode::expired, "x"})) ==
          "00070a0002"
          "05"
          "0001"
          "78");
}

TEST_CASE("messages that arrive byte by byte or all at once are the same") {
    std::vector<std::byte> stream;
    for (const Message& message : samples()) {
        const auto bytes = encode(message);
        stream.insert(stream.end(), bytes.begin(), bytes.end());
    }
    for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, stream.size()}) {
        MessageReader reader;
        std::size_t found = 0;
        for (std::size_t at = 0; at < stream.size(); at += step) {
            reader.feed(std::span(stream).subspan(at, std::min(step, stream.size() - at)));
            while (const auto message = read(reader)) CHECK(message->index() == samples()[found++].index());
        }
        CHECK(found == samples().size());
        CHECK(reader.pending() == 0);
    }
}

TEST_CASE("a message whose fields are cut is refused, at each byte") {
    for (const Message& message : samples()) {
        const auto bytes = encode(message);
        if (bytes.size() > 100) continue;
        for (std::size_t fields = 0; 5 + fields < bytes.size(); ++fields) {
            INFO(name_of(message) << ' ' << fields);
            std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(5 + fields));
            cut[1] = static_cast<std::byte>(3 + fields);
            CHECK(mentions(refusal_of(cut), "is missing or too long"));
        }
    }
}

TEST_CASE("fields that a later release appends are skipped") {
    for (const Message& message : samples()) {
        auto bytes = encode(message);
        if (bytes.size() > 100) continue;
        bytes[1] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[1]) + 3);
        const auto more = from_text("new");
        bytes.insert(bytes.end(), more.begin(), more.end());
        MessageReader reader;
        reader.feed(bytes);
        const auto again = read(reader);
        REQUIRE(again);
        CHECK(again->index() == message.index());
    }
}

TEST_CASE("an unknown message is skipped if it is optional, and otherwise refused with the release that knows it") {
    MessageReader reader;
    reader.feed(
        from_hex("0005"
                 "40"
                 "07d3"
                 "aabb"
                 "0003"
                 "7f"
                 "0001"));
    reader.feed(encode(Dismiss{}));
    const auto message = read(reader);
    REQUIRE(message);
    CHECK(std::holds_alternative<Dismiss>(*message));
    for (const char* const type : {"3f", "80", "ff"}) {
        const auto bytes = from_hex(std::string("0005") + type + "07d3aabb");
        CHECK(mentions(refusal_of(bytes), "install udtx 2.3 or later"));
    }
}

TEST_CASE("impossible lengths are refused before their bytes arrive") {
    CHECK(mentions(refusal_of(from_hex("0000010001")), "a length is impossible"));
    CHECK(mentions(refusal_of(from_hex("0002010001")), "a length is impossible"));
    CHECK(mentions(refusal_of(from_hex("ffff080001")), "a length is impossible"));
    CHECK(mentions(refusal_of(from_hex("1001010001")), "a length is impossible"));
    CHECK(refusal_of(from_hex("fdef090001")).empty());
    // Longer than the field may be: 16,001 bytes of the stream, and 1,025 of a message to the other end.
    std::vector<std::byte> long_one(2 + 3 + 2 + kMaxDataBytes + 1);
    const auto head = from_hex("3e860900023e81");
    std::ranges::copy(head, long_one.begin());
    CHECK(mentions(refusal_of(long_one), "DATA is missing or too long"));
    std::vector<std::byte> mail(2 + 3 + 1 + 2 + kMaxPeerBytes + 1);
    const auto mail_head = from_hex("0407080001010401");
    std::ranges::copy(mail_head, mail.begin());
    CHECK(mentions(refusal_of(mail), "PEER is missing or too long"));
}

TEST_CASE("BIND and its answer are written and read to the same, and the answer is the shorter one") {
    const Bind bind{token_of(3)};
    const auto bytes = encode(bind);
    CHECK(bytes[0] == std::byte{1});
    const auto again = parse_bind(bytes);
    REQUIRE(again);
    CHECK(again->token == bind.token);
    for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(parse_bind(std::span(bytes).first(size)));
    for (const Address& address : {kV4, kV6}) {
        const BindAnswer answer{token_of(9), address};
        const auto written = encode(answer);
        CHECK(written.size() < bytes.size());
        CHECK_FALSE(parse_bind(written));
        const auto read_again = parse_bind_answer(written);
        REQUIRE(read_again);
        CHECK(read_again->token == answer.token);
        CHECK(read_again->observed == address);
        for (std::size_t size = 0; size < written.size(); ++size) {
            CHECK_FALSE(parse_bind_answer(std::span(written).first(size)));
        }
    }
    CHECK_FALSE(parse_bind_answer(bytes));
    auto unknown = encode(BindAnswer{token_of(9), kV4});
    unknown[17] = std::byte{5};
    CHECK_FALSE(parse_bind_answer(unknown));
}
