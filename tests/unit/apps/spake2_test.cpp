// SPAKE2: the test vectors of RFC 9382, wrong words, and messages that no honest end sends.
#include <string>

#include "rendezvous/spake2.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using test::from_hex;
using test::to_hex;
using Party = Spake2::Party;

namespace {

/// RFC 9382, appendix B.
struct Vector {
    const char* a;
    const char* b;
    const char* w;
    const char* x;
    const char* y;
    const char* message_a;
    const char* message_b;
    const char* ke;
    const char* confirmation_a;
    const char* confirmation_b;
};
constexpr Vector kVectors[] = {
    {"server", "client", "2ee57912099d31560b3a44b1184b9b4866e904c49d12ac5042c97dca461b1a5f",
     "43dd0fd7215bdcb482879fca3220c6a968e66d70b1356cac18bb26c84a78d729",
     "dcb60106f276b02606d8ef0a328c02e4b629f84f89786af5befb0bc75b6e66be",
     "04a56fa807caaa53a4d28dbb9853b9815c61a411118a6fe516a8798434751470f9010153ac33d0d5f2047ffdb1a3e42c9b4e6be662766e1ee"
     "b"
     "4116988ede5f912c",
     "0406557e482bd03097ad0cbaa5df82115460d951e3451962f1eaf4367a420676d09857ccbc522686c83d1852abfa8ed6e4a1155cf8f1543ce"
     "c"
     "a528afb591a1e0b7",
     "0e0672dc86f8e45565d338b0540abe69", "58ad4aa88e0b60d5061eb6b5dd93e80d9c4f00d127c65b3b35b1b5281fee38f0",
     "d3e2e547f1ae04f2dbdbf0fc4b79f8ecff2dff314b5d32fe9fcef2fb26dc459b"},
    {"", "client", "0548d8729f730589e579b0475a582c1608138ddf7054b73b5381c7e883e2efae",
     "403abbe3b1b4b9ba17e3032849759d723939a27a27b9d921c500edde18ed654b",
     "903023b6598908936ea7c929bd761af6039577a9c3f9581064187c3049d87065",
     "04a897b769e681c62ac1c2357319a3d363f610839c4477720d24cbe32f5fd85f44fb92ba966578c1b712be6962498834078262caa5b441ecf"
     "a"
     "9d4a9485720e918a",
     "04e0f816fd1c35e22065d5556215c097e799390d16661c386e0ecc84593974a61b881a8c82327687d0501862970c64565560cb5671f696048"
     "0"
     "50ca66ca5f8cc7fc",
     "642f05c473c2cd79909f9a841e2f30a7", "47d29e6666af1b7dd450d571233085d7a9866e4d49d2645e2df975489521232b",
     "3313c5cefc361d27fb16847a91c2a73b766ffa90a4839122a9b70a2f6bd1d6df"},
    {"server", "", "626e0cdc7b14c9db3e52a0b1b3a768c98e37852d5db30febe0497b14eae8c254",
     "07adb3db6bc623d3399726bfdbfd3d15a58ea776ab8a308b00392621291f9633",
     "b6a4fc8dbb629d4ba51d6f91ed1532cf87adec98f25dd153a75accafafedec16",
     "04f88fb71c99bfffaea370966b7eb99cd4be0ff1a7d335caac4211c4afd855e2e15a873b298503ad8ba1d9cbb9a392d2ba309b48bfd7879ae"
     "f"
     "d0f2cea6009763b0",
     "040c269d6be017dccb15182ac6bfcd9e2a14de019dd587eaf4bdfd353f031101e7cca177f8eb362a6e83e7d5e729c0732e1b528879c086f39"
     "b"
     "a0f31a9661bd34db",
     "005184ff460da2ce59062c87733c299c", "bc9f9bbe99f26d0b2260e6456e05a86196a3307ec6663a18bf6ac825736533b2",
     "c2370e1bf813b086dff0d834e74425a06e6390f48f5411900276dcccc5a297ec"},
    {"", "", "7bf46c454b4c1b25799527d896508afd5fc62ef4ec59db1efb49113063d70cca",
     "8cef65df64bb2d0f83540c53632de911b5b24b3eab6cc74a97609fd659e95473",
     "d7a66f64074a84652d8d623a92e20c9675c61cb5b4f6a0063e4648a2fdc02d53",
     "04a65b367a3f613cf9f0654b1b28a1e3a8a40387956c8ba6063e8658563890f46ca1ef6a676598889fc28de2950ab8120b79a5ef1ea4c9f44"
     "b"
     "c98f585634b46d66",
     "04589f13218822710d98d8b2123a079041052d9941b9cf88c6617ddb2fcc0494662eea8ba6b64692dc318250030c6af045cb738bc81ba35b0"
     "4"
     "3c3dcb46adf6f58d",
     "fc6374762ba5cf11f4b2caa08b2cd1b9", "dfb4db8d48ae5a675963ea5e6c19d98d4ea028d8e898dad96ea19a80ade95dca",
     "d0f0609d1613138d354f7e95f19fb556bf52d751947241e8c7118df5ef0ae175"},
};

Secret32 secret(const std::string& hex) {
    const auto bytes = from_hex(hex);
    return Secret32(std::span<const std::byte, 32>(bytes.data(), 32));
}

Spake2 end_of(Party role, const Secret32& password, const std::string& additional = "7") {
    auto made = Spake2::make({role, "udtx sender", "udtx receiver", additional}, password);
    REQUIRE(made);
    return std::move(*made);
}

/// Exchanges the messages, but no confirmations.
void meet(Spake2& a, Spake2& b) {
    REQUIRE(a.on_message(b.message()));
    REQUIRE(b.on_message(a.message()));
}

const Secret32& words() {
    static const Secret32 scalar = password_scalar("crystal-hamster-anchor", "7");
    return scalar;
}

ErrorCode error_of(const Result<void>& result) {
    REQUIRE_FALSE(result);
    return result.error().code;
}

}  // namespace

TEST_CASE("SPAKE2 computes the test vectors of its RFC") {
    for (const Vector& vector : kVectors) {
        INFO(vector.a << ' ' << vector.b);
        auto a = Spake2::make({Party::a, vector.a, vector.b, ""}, secret(vector.w), secret(vector.x));
        auto b = Spake2::make({Party::b, vector.a, vector.b, ""}, secret(vector.w), secret(vector.y));
        REQUIRE(a);
        REQUIRE(b);
        CHECK(to_hex(a->message()) == vector.message_a);
        CHECK(to_hex(b->message()) == vector.message_b);
        meet(*a, *b);
        CHECK(to_hex(a->confirmation()) == vector.confirmation_a);
        CHECK(to_hex(b->confirmation()) == vector.confirmation_b);
        REQUIRE(a->on_confirmation(b->confirmation()));
        REQUIRE(b->on_confirmation(a->confirmation()));
        Secret32 expected;
        hkdf_sha256(from_hex(vector.ke), as_bytes_of("udtx rendezvous key"), expected.bytes());
        CHECK(to_hex(a->key().bytes()) == to_hex(expected.bytes()));
        CHECK(to_hex(b->key().bytes()) == to_hex(expected.bytes()));
    }
}

TEST_CASE("two ends with the same words get the same key, another one each time") {
    std::string keys[2];
    for (std::string& key : keys) {
        Spake2 a = end_of(Party::a, words());
        Spake2 b = end_of(Party::b, words());
        meet(a, b);
        REQUIRE(a.on_confirmation(b.confirmation()));
        REQUIRE(b.on_confirmation(a.confirmation()));
        CHECK(a.stage() == Spake2::Stage::confirmed);
        key = to_hex(a.key().bytes());
        CHECK(key == to_hex(b.key().bytes()));
    }
    CHECK(keys[0] != keys[1]);
}

TEST_CASE("other words, another number or another role give no key") {
    const Secret32 none;
    const auto refused = [&](Spake2 a, Spake2 b) {
        meet(a, b);
        CHECK(error_of(a.on_confirmation(b.confirmation())) == ErrorCode::authentication);
        CHECK(error_of(b.on_confirmation(a.confirmation())) == ErrorCode::authentication);
        CHECK(a.stage() == Spake2::Stage::failed);
        CHECK(to_hex(a.key().bytes()) == to_hex(none.bytes()));
        // The right one comes too late.
        CHECK(error_of(a.on_confirmation(a.confirmation())) == ErrorCode::protocol);
    };
    refused(end_of(Party::a, words()), end_of(Party::b, password_scalar("crystal-hamster-anchors", "7")));
    refused(end_of(Party::a, words()), end_of(Party::b, words(), "8"));
    refused(end_of(Party::a, words()), end_of(Party::a, words()));
    refused(end_of(Party::b, words()), end_of(Party::b, words()));
    CHECK(to_hex(password_scalar("a-b-c", "7").bytes()) != to_hex(password_scalar("a-b-c", "8").bytes()));
}

TEST_CASE("own messages that come back give no key") {
    Spake2 a = end_of(Party::a, words());
    REQUIRE(a.on_message(a.message()));
    CHECK(error_of(a.on_confirmation(a.confirmation())) == ErrorCode::authentication);
}

TEST_CASE("what is not a point of the curve is refused") {
    const Spake2 honest = end_of(Party::b, words());
    auto off_curve = honest.message();
    off_curve.back() ^= std::byte{1};
    auto compressed = std::vector<std::byte>(honest.message().begin(), honest.message().begin() + 33);
    compressed[0] = std::byte{2};
    auto hybrid = honest.message();
    hybrid[0] = std::byte{6};
    auto longer = std::vector<std::byte>(honest.message().begin(), honest.message().end());
    longer.push_back({});
    const std::vector<std::byte> shorter(honest.message().begin(), honest.message().end() - 1);
    const std::vector<std::byte> zeros(65);
    auto zero_point = zeros;
    zero_point[0] = std::byte{4};
    // Both coordinates are the prime, which means 0.
    const auto unreduced = from_hex(
        "04ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"
        "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
    const std::vector<std::vector<std::byte>> wrong{{off_curve.begin(), off_curve.end()},
                                                    compressed,
                                                    {hybrid.begin(), hybrid.end()},
                                                    longer,
                                                    shorter,
                                                    zeros,
                                                    zero_point,
                                                    unreduced,
                                                    {},
                                                    {std::byte{0}}};
    for (const auto& message : wrong) {
        INFO(to_hex(message));
        Spake2 a = end_of(Party::a, words());
        CHECK(error_of(a.on_message(message)) == ErrorCode::protocol);
        CHECK(a.stage() == Spake2::Stage::failed);
        CHECK(error_of(a.on_message(honest.message())) == ErrorCode::protocol);
    }
}

TEST_CASE("a message that leads to the identity is refused") {
    // B's message w*N without a random part: the shared point would be the identity for every password.
    Secret32 one;
    one.bytes()[31] = std::byte{1};
    Spake2 a = end_of(Party::a, one);
    const auto point_n = from_hex(
        "04d8bbd6c639c62937b04d997f38c3770719c629d7014d49a24b4f98baa1292b49"
        "07d60aa6bfade45008a636337f5168c64d9bd36034808cd564490b1e656edbe7");
    CHECK(error_of(a.on_message(point_n)) == ErrorCode::protocol);
}

TEST_CASE("repeated and early messages end the exchange") {
    Spake2 early = end_of(Party::a, words());
    CHECK(error_of(early.on_confirmation(early.confirmation())) == ErrorCode::protocol);
    Spake2 a = end_of(Party::a, words());
    Spake2 b = end_of(Party::b, words());
    meet(a, b);
    REQUIRE(a.on_confirmation(b.confirmation()));
    CHECK(error_of(a.on_confirmation(b.confirmation())) == ErrorCode::protocol);
    CHECK(error_of(b.on_message(a.message())) == ErrorCode::protocol);
    CHECK(to_hex(a.key().bytes()) == std::string(64, '0'));
    Spake2 shortened = end_of(Party::a, words());
    Spake2 other = end_of(Party::b, words());
    meet(shortened, other);
    const auto whole = other.confirmation();
    CHECK(error_of(shortened.on_confirmation(std::span(whole).first(31))) == ErrorCode::authentication);
}

TEST_CASE("sealed messages open in their order, once, and in their direction only") {
    const Secret32& key = words();
    Sealer out(key, "there");
    Sealer in(key, "there");
    Sealer back(key, "back");
    const auto first = out.seal(test::from_text("first"));
    const auto second = out.seal({});
    CHECK_FALSE(back.open(first));
    CHECK_FALSE(in.open(second));
    auto changed = first;
    changed[0] ^= std::byte{1};
    CHECK_FALSE(in.open(changed));
    CHECK_FALSE(in.open(std::span(first).first(15)));
    const auto opened = in.open(first);
    REQUIRE(opened);
    CHECK(*opened == test::from_text("first"));
    CHECK_FALSE(in.open(first));
    CHECK(in.open(second));
}
