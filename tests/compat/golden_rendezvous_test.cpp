// The golden file of what two ends and a relay send each other.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compat/golden.hpp"
#include "rendezvous/messages.hpp"
#include "rendezvous/met_end.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

Token token_of(unsigned char first) {
    Token token{};
    for (std::size_t i = 0; i < token.size(); ++i) token[i] = static_cast<std::byte>(first + i);
    return token;
}

const Address kV4{Address::Family::v4, 7011, {192, 0, 2, 1}};
const Address kV6{Address::Family::v6, 65535, {0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};

std::vector<std::pair<std::string, Message>> messages() {
    return {{"claim", Claim{1}},
            {"claimed", Claimed{1, 7, token_of(1), 3600}},
            {"join", Join{1, 999'999}},
            {"joined", Joined{1, 3, token_of(200)}},
            {"left", Left{2}},
            {"dismiss", Dismiss{2}},
            {"settled", Settled{255}},
            {"peer", Peer{1, test::from_text("sealed")}},
            {"data", Data{test::from_hex("4001")}},
            {"close", Close{CloseReasonCode::busy, "full"}}};
}

}  // namespace

TEST_CASE("each message of the rendezvous of 0.2 is read and written") {
    auto golden = test::golden_map("rendezvous.txt");
    for (const auto& [name, expected] : messages()) {
        INFO(name);
        const auto bytes = golden.at(name);
        golden.erase(name);
        CHECK(encode(expected) == bytes);
        MessageReader reader;
        reader.feed(bytes);
        const auto message = reader.next();
        REQUIRE(message);
        REQUIRE(message->has_value());
        CHECK((*message)->index() == expected.index());
        CHECK(encode(**message) == bytes);
        CHECK(reader.pending() == 0);
    }
    const auto bind = golden.at("bind");
    CHECK(std::ranges::equal(encode(Bind{token_of(1)}), bind));
    const auto question = parse_bind(bind);
    REQUIRE(question);
    CHECK(question->token == token_of(1));
    for (const auto& [name, observed] : {std::pair{"answer-v4", kV4}, std::pair{"answer-v6", kV6}}) {
        INFO(name);
        const auto bytes = golden.at(name);
        CHECK(encode(BindAnswer{token_of(1), observed}) == bytes);
        const auto answer = parse_bind_answer(bytes);
        REQUIRE(answer);
        CHECK(answer->token == token_of(1));
        CHECK(answer->observed == observed);
        golden.erase(name);
    }
    golden.erase("bind");
    CHECK(golden.empty());
}

TEST_CASE("the addresses that ends of 0.2 tell each other are read and written") {
    const std::string text = "seen 192.0.2.1:7011\nown [2001:db8:102:304:506:708:90a:b0c]:65535\n";
    const EndAddresses told = EndAddresses::parse(text);
    CHECK(told.seen == kV4);
    CHECK(told.own == std::vector{kV6});
    CHECK(told.to_text() == text);
}
