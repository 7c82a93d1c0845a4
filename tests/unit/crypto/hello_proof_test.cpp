// The proof that lets a client skip the cookie: it belongs to one client and counts once.
#include "crypto/proofs.hpp"

#include "openssl/credentials.hpp"
#include "openssl/provider.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::crypto;

namespace {

Secret key_of(std::uint8_t byte) {
    Secret key{};
    key.fill(static_cast<std::byte>(byte));
    return key;
}

}  // namespace

TEST_CASE("a proof holds for its key and id only") {
    openssl::OpensslProvider provider;
    const HelloProofs proofs(provider, key_of(1));
    HelloProof proof = make_hello_proof(provider, key_of(1), ConnectionId{7});
    CHECK(proofs.check(ConnectionId{7}, proof));
    CHECK_FALSE(proofs.check(ConnectionId{8}, proof));
    CHECK_FALSE(proofs.check(ConnectionId{7}, make_hello_proof(provider, key_of(2), ConnectionId{7})));
    CHECK_FALSE(proofs.check(ConnectionId{7}, std::span(proof).first(15)));
    CHECK_FALSE(proofs.check(ConnectionId{7}, {}));
    for (std::byte& b : proof) {
        b ^= std::byte{0x40};
        CHECK_FALSE(proofs.check(ConnectionId{7}, proof));
        b ^= std::byte{0x40};
    }
}

TEST_CASE("a proof counts once, as long as it is remembered") {
    openssl::OpensslProvider provider;
    HelloProofs proofs(provider, key_of(1));
    const auto check = [&](std::uint64_t id) {
        return proofs.check(ConnectionId{id}, make_hello_proof(provider, key_of(1), ConnectionId{id}));
    };
    for (std::uint64_t id = 0; id < HelloProofs::kRemembered; ++id) {
        REQUIRE(check(id));
        proofs.remember(ConnectionId{id});
        REQUIRE_FALSE(check(id));
    }
    proofs.remember(ConnectionId{1});  // remembering an id again forgets no other id
    CHECK_FALSE(check(0));
    proofs.remember(ConnectionId{HelloProofs::kRemembered});
    CHECK(check(0));
    CHECK_FALSE(check(1));
}

TEST_CASE("the key of the proofs follows from the pre-shared key and is not that key") {
    openssl::OpensslProvider provider;
    const Secret psk = key_of(3);
    const auto key = openssl::hello_key(provider, Credentials::from_psk(psk));
    REQUIRE(key.has_value());
    CHECK(*key != psk);
    CHECK(key == openssl::hello_key(provider, Credentials::from_psk(psk)));
    CHECK(key != openssl::hello_key(provider, Credentials::from_psk(key_of(4))));
    const test::TemporaryDirectory temp;
    REQUIRE(Credentials::write_identity(temp / "id").ok());
    CHECK_FALSE(openssl::hello_key(provider, Credentials::from_identity_file(temp / "id").value()).has_value());
}

TEST_CASE("the key of resets outlives the process, with a pre-shared key and with an identity") {
    openssl::OpensslProvider provider;
    const auto by_psk = openssl::reset_key(provider, Credentials::from_psk(key_of(3)));
    REQUIRE(by_psk.has_value());
    CHECK(by_psk == openssl::reset_key(provider, Credentials::from_psk(key_of(3))));
    CHECK(by_psk != openssl::reset_key(provider, Credentials::from_psk(key_of(4))));
    CHECK(by_psk != openssl::hello_key(provider, Credentials::from_psk(key_of(3))));
    const test::TemporaryDirectory temp;
    REQUIRE(Credentials::write_identity(temp / "one").ok());
    REQUIRE(Credentials::write_identity(temp / "other").ok());
    const auto by_identity = openssl::reset_key(provider, Credentials::from_identity_file(temp / "one").value());
    REQUIRE(by_identity.has_value());
    CHECK(by_identity == openssl::reset_key(provider, Credentials::from_identity_file(temp / "one").value()));
    CHECK(by_identity != openssl::reset_key(provider, Credentials::from_identity_file(temp / "other").value()));
    // The token depends on the connection id and on the server's key.
    const auto token = make_reset_token(provider, *by_psk, ConnectionId{7});
    CHECK(token == make_reset_token(provider, *by_psk, ConnectionId{7}));
    CHECK(token != make_reset_token(provider, *by_psk, ConnectionId{8}));
    CHECK(token != make_reset_token(provider, *by_identity, ConnectionId{7}));
}
