// The groups of the key exchange, as they are on the wire (RFC 8446, sections 4.1 and 4.2.8).
#include <openssl/crypto.h>

#include <optional>
#include <vector>

#include "tls_pair.hpp"
#include "wire/cursor.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

constexpr std::uint16_t kX25519 = 0x001d;
constexpr std::uint16_t kHybrid = 0x11ec;  // X25519MLKEM768, draft-ietf-tls-ecdhe-mlkem
constexpr std::uint16_t kKeyShare = 51;

std::uint64_t number(wire::Reader& in, std::size_t bytes) {
    const auto raw = in.bytes(bytes);
    REQUIRE(raw);
    return wire::load_big_endian(raw->data(), bytes);
}

/// A field whose length stands before it in `bytes` bytes.
wire::Reader field(wire::Reader& in, std::size_t bytes) {
    const auto raw = in.bytes(static_cast<std::size_t>(number(in, bytes)));
    REQUIRE(raw);
    return wire::Reader(*raw);
}

/// The extension of the hello with which the first record begins.
wire::Reader key_share(std::span<const std::byte> record, bool of_client) {
    wire::Reader in(record);
    REQUIRE(number(in, 1) == 22);  // handshake
    number(in, 2);                 // version of the record
    wire::Reader message = field(in, 2);
    REQUIRE(number(message, 1) == (of_client ? 1 : 2));
    wire::Reader hello = field(message, 3);
    number(hello, 2);  // version
    REQUIRE(hello.bytes(32));
    field(hello, 1);  // session
    if (of_client) {
        field(hello, 2);  // cipher suites
        field(hello, 1);  // compression
    } else {
        number(hello, 2);
        number(hello, 1);
    }
    wire::Reader extensions = field(hello, 2);
    for (;;) {
        const std::uint64_t type = number(extensions, 2);
        wire::Reader extension = field(extensions, 2);
        if (type == kKeyShare) return extension;
    }
}

}  // namespace

TEST_CASE("OpenSSL 3.5 and newer agree on the hybrid group, older ones on X25519, with one ClientHello") {
    const bool hybrid = OpenSSL_version_num() >= 0x30500000UL;
    TlsPair pair(psk(1), psk(1));
    std::vector<std::vector<std::byte>> from_client;
    std::vector<std::vector<std::byte>> from_server;
    pair.to_server = [&](std::vector<std::byte>& bytes) { from_client.push_back(bytes); };
    pair.to_client = [&](std::vector<std::byte>& bytes) { from_server.push_back(bytes); };
    pair.run();
    REQUIRE(pair.connected());
    // A second ClientHello would make it three.
    CHECK(from_client.size() == 2);

    wire::Reader client_extension = key_share(from_client.front(), true);
    wire::Reader shares = field(client_extension, 2);
    std::vector<std::uint64_t> offered;
    while (!shares.empty()) {
        offered.push_back(number(shares, 2));
        field(shares, 2);
    }
    CHECK(offered == (hybrid ? std::vector<std::uint64_t>{kHybrid, kX25519} : std::vector<std::uint64_t>{kX25519}));

    wire::Reader server_extension = key_share(from_server.front(), false);
    CHECK(number(server_extension, 2) == (hybrid ? kHybrid : kX25519));
}
