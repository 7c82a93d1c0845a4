#include <openssl/err.h>

#include "tls_pair.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

void check_agreement(TlsPair& pair) {
    REQUIRE(pair.connected());
    CHECK(pair.selected == 1);
    CHECK(pair.offered == from_text("client parameters"));
    CHECK(to_hex(pair.client->peer_parameters()) == to_hex(from_text("server parameters")));
    CHECK(to_hex(pair.server->peer_parameters()) == to_hex(from_text("client parameters")));
    const auto one = pair.client->export_secret("EXPORTER-udtx-2 packet keys");
    const auto two = pair.server->export_secret("EXPORTER-udtx-2 packet keys");
    const auto other = pair.server->export_secret("EXPORTER-udtx-2 something else");
    REQUIRE(one.ok());
    REQUIRE(two.ok());
    REQUIRE(other.ok());
    CHECK(*one == *two);
    CHECK(*one != *other);
    CHECK(*one != crypto::Secret{});
    CHECK(ERR_peek_error() == 0);
}

}  // namespace

TEST_CASE("A pre-shared key connects, and both ends agree") {
    TlsPair pair(psk(1), psk(1));
    pair.run();
    check_agreement(pair);
}

TEST_CASE("Bytes may come one at a time") {
    TlsPair pair(psk(1), psk(1));
    pair.run(1);
    check_agreement(pair);
}

TEST_CASE("Two handshakes with one key export different secrets") {
    TlsPair one(psk(1), psk(1));
    TlsPair two(psk(1), psk(1));
    one.run();
    two.run();
    CHECK(*one.client->export_secret("label") != *two.client->export_secret("label"));
}

TEST_CASE("Pinned keys connect, and both ends agree") {
    const TemporaryDirectory directory;
    Credentials client = identity(directory, "client");
    Credentials server = identity(directory, "server");
    REQUIRE(client.trust(*server.public_key()).ok());
    REQUIRE(server.trust(*client.public_key()).ok());
    for (const std::size_t step : {0, 1, 100}) {
        TlsPair pair(client, server);
        pair.run(step);
        check_agreement(pair);
    }
}

TEST_CASE("Nothing is exported before the end") {
    TlsPair pair(psk(1), psk(1));
    CHECK_FALSE(pair.client->export_secret("label").ok());
    CHECK_FALSE(pair.client->complete());
    CHECK(pair.client->peer_parameters().empty());
}

TEST_CASE("A handshake outlives its factory") {
    TlsPair pair(psk(1), psk(1));
    (*pair.client_factory).reset();
    (*pair.server_factory).reset();
    pair.run();
    CHECK(pair.connected());
}

TEST_CASE("The handshake fits into two datagrams each way") {
    const TemporaryDirectory directory;
    Credentials both = identity(directory, "both");
    REQUIRE(both.trust(*both.public_key()).ok());
    TlsPair pair(both, both);
    std::size_t there = 0;
    std::size_t back = 0;
    pair.to_server = [&there](std::vector<std::byte>& bytes) { there += bytes.size(); };
    pair.to_client = [&back](std::vector<std::byte>& bytes) { back += bytes.size(); };
    pair.run();
    REQUIRE(pair.connected());
    CHECK(there < 2200);
    CHECK(back < 2200);
}
