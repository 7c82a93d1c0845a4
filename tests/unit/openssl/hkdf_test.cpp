// Test vectors of RFC 5869, appendix A, and RFC 4231.
#include "openssl/provider.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/fault_case.hpp"

using namespace udtx;
using test::from_hex;
using test::to_hex;

TEST_CASE("F18 HKDF-SHA256, RFC 5869 test case 1") {
    openssl::OpensslProvider provider;
    const auto prk = provider.hkdf_extract(from_hex("000102030405060708090a0b0c"),
                                           from_hex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"));
    CHECK(to_hex(prk) == "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
    std::vector<std::byte> okm(42);
    provider.hkdf_expand(prk, from_hex("f0f1f2f3f4f5f6f7f8f9"), okm);
    CHECK(to_hex(okm) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
}

TEST_CASE("F18 HKDF-SHA256 without salt and info, RFC 5869 test case 3") {
    openssl::OpensslProvider provider;
    const auto prk = provider.hkdf_extract({}, from_hex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"));
    CHECK(to_hex(prk) == "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04");
    std::vector<std::byte> okm(42);
    provider.hkdf_expand(prk, {}, okm);
    CHECK(to_hex(okm) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
    test::fault_case(18, "HKDF-SHA256 gives the values of RFC 5869, test cases 1 and 3, 74 bytes each",
                     prk.size() + okm.size(), " equal bytes");
}

TEST_CASE("HMAC-SHA256, RFC 4231 test case 2") {
    openssl::OpensslProvider provider;
    CHECK(to_hex(provider.hmac_sha256(test::from_text("Jefe"), test::from_text("what do ya want for nothing?"))) ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}
