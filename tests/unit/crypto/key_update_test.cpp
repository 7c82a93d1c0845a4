// Key phases between the two ends (RFC 9001, section 6).
#include <optional>

#include "crypto/packet_protection.hpp"
#include "openssl/provider.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/fault_case.hpp"

using namespace udtx;
using namespace udtx::crypto;

namespace {

constexpr std::size_t kHeader = 14;
constexpr PathId kPath{0};

struct Packet {
    PathId path;
    PacketNumber number = 0;
    bool phase = false;
    std::vector<std::byte> bytes;
};

/// One end and its packet counter.
struct End {
    End(Provider& provider, Role role, KeyLimits limits = limits_for(Cipher::aes_256_gcm))
        : keys(provider, Cipher::aes_256_gcm, role, test::counting_secret(), limits) {}

    Packet send(PathId path = kPath) {
        Packet packet{path, next++, keys.key_phase(), std::vector<std::byte>(100)};
        keys.seal(path, packet.number, packet.bytes, kHeader);
        return packet;
    }
    bool receive(Packet packet) { return keys.open(packet.path, packet.number, packet.phase, packet.bytes, kHeader); }

    SessionKeys keys;
    PacketNumber next = 0;
};

struct Pair {
    openssl::OpensslProvider provider;
    End client{provider, Role::client};
    End server{provider, Role::server};

    /// Sends and acknowledges a packet in each direction, so that both ends may update.
    void exchange() {
        const Packet there = client.send();
        REQUIRE(server.receive(there));
        const Packet back = server.send();
        REQUIRE(client.receive(back));
        client.keys.on_acked(kPath, there.number);
        server.keys.on_acked(kPath, back.number);
    }
};

}  // namespace

TEST_CASE("Both directions have keys of their own: a reflected packet does not open") {
    Pair pair;
    const Packet packet = pair.client.send();
    CHECK_FALSE(pair.client.receive(packet));
    CHECK(pair.server.receive(packet));
    CHECK(pair.client.keys.failed_opens() == 1);
}

TEST_CASE("An update needs an acknowledgement of the current phase") {
    Pair pair;
    CHECK_FALSE(pair.client.keys.can_update());
    pair.exchange();
    REQUIRE(pair.client.keys.can_update());
    pair.client.keys.initiate_update();
    CHECK(pair.client.keys.sealed_in_phase() == 0);
    pair.client.keys.on_acked(kPath, 0);  // from the old phase
    CHECK_FALSE(pair.client.keys.can_update());
}

TEST_CASE("Keys roll many times, started by either end") {
    Pair pair;
    for (std::uint64_t round = 1; round <= 8; ++round) {
        pair.exchange();
        End& first = round % 2 == 0 ? pair.client : pair.server;
        End& second = round % 2 == 0 ? pair.server : pair.client;
        const bool before = first.keys.key_phase();
        first.keys.initiate_update();
        REQUIRE(second.receive(first.send()));
        CHECK(second.keys.key_phase() != before);
        REQUIRE(first.receive(second.send()));
        CHECK(first.keys.key_updates() == round);
        CHECK(second.keys.key_updates() == round);
    }
    CHECK(pair.client.keys.failed_opens() + pair.server.keys.failed_opens() == 0);
}

TEST_CASE("Both ends update at the same time") {
    Pair pair;
    pair.exchange();
    pair.client.keys.initiate_update();
    pair.server.keys.initiate_update();
    const Packet there = pair.client.send();
    const Packet back = pair.server.send();
    CHECK(pair.server.receive(there));
    CHECK(pair.client.receive(back));
    CHECK(pair.client.keys.key_updates() == 1);
    CHECK(pair.server.keys.key_updates() == 1);
    pair.exchange();
    CHECK(pair.client.keys.key_phase() == pair.server.keys.key_phase());
}

TEST_CASE("Packets of the old phase still open after the update, until the keys are dropped") {
    Pair pair;
    pair.exchange();
    const Packet late = pair.client.send();
    const Packet later = pair.client.send();
    pair.client.keys.initiate_update();
    const Packet early = pair.client.send();
    const Packet newest = pair.client.send();
    REQUIRE(pair.server.receive(newest));
    CHECK(pair.server.receive(early));  // reordered within the new phase
    CHECK(pair.server.receive(late));
    pair.server.keys.drop_previous();
    CHECK_FALSE(pair.server.receive(later));
    CHECK(pair.server.keys.key_updates() == 1);
}

TEST_CASE("On a path that has not shown the new phase yet, both neighbours are tried") {
    Pair pair;
    pair.exchange();
    const Packet late = pair.client.send(PathId{1});
    pair.client.keys.initiate_update();
    REQUIRE(pair.server.receive(pair.client.send()));
    pair.exchange();
    CHECK(pair.server.receive(late));  // the previous keys, on a path with its own packet numbers
    REQUIRE(pair.client.keys.can_update());
    pair.client.keys.initiate_update();
    CHECK(pair.server.receive(pair.client.send(PathId{1})));  // the next keys, after the previous ones failed
    CHECK(pair.server.keys.key_updates() == 2);
}

TEST_CASE("Forged packets never rotate keys") {
    Pair pair;
    pair.exchange();
    Packet forged = pair.client.send();
    forged.phase = !forged.phase;
    const bool phase = pair.server.keys.key_phase();
    for (int i = 0; i < 100; ++i) {
        forged.bytes[20] ^= std::byte{1};
        forged.number += 1;
        CHECK_FALSE(pair.server.receive(forged));
    }
    CHECK(pair.server.keys.key_phase() == phase);
    CHECK(pair.server.keys.key_updates() == 0);
    CHECK(pair.server.keys.failed_opens() == 100);
    pair.exchange();
}

TEST_CASE("F20 a packet of an earlier generation does not open under a later one") {
    Pair pair;
    pair.exchange();
    const Packet old = pair.client.send();
    for (int i = 0; i < 2; ++i) {
        pair.client.keys.initiate_update();
        pair.exchange();
    }
    CHECK_FALSE(pair.server.receive(old));  // two updates later: the same phase bit, other keys
    Packet moved = pair.client.send();
    moved.path = PathId{1};
    CHECK_FALSE(pair.server.receive(moved));
    Packet renumbered = pair.client.send();
    renumbered.number += 1000;
    CHECK_FALSE(pair.server.receive(renumbered));
    test::fault_case(20, "a packet sealed two updates ago, moved to another path or renumbered: none of 3 opens",
                     pair.server.keys.key_updates(), " updates, 3 refused");
}

TEST_CASE("F40 a second update without a packet of ours in between is refused") {
    Pair pair;
    pair.exchange();
    pair.client.keys.initiate_update();
    // A second server with the same secret leads the client into updates that the first server has not answered.
    End accomplice(pair.provider, Role::server);
    (void)accomplice.send();
    REQUIRE(accomplice.receive(pair.client.send()));
    REQUIRE(pair.client.receive(accomplice.send()));
    REQUIRE(pair.server.receive(pair.client.send()));
    CHECK(pair.server.keys.key_updates() == 1);
    pair.client.keys.on_acked(kPath, pair.client.next - 1);
    pair.client.keys.initiate_update();
    const Packet second = pair.client.send();
    CHECK_FALSE(pair.server.receive(second));
    CHECK(pair.server.keys.key_updates() == 1);
    (void)pair.server.send();
    CHECK(pair.server.receive(second));
    CHECK(pair.server.keys.key_updates() == 2);
    test::fault_case(40, "key updates without an answer in between: at most one is accepted",
                     pair.server.keys.key_updates(), " updates after the answer");
}

TEST_CASE("F26 lowered limits are reported") {
    openssl::OpensslProvider provider;
    End client(provider, Role::client, {1024, 16});
    End server(provider, Role::server, {1024, 16});
    int sealed = 1;
    for (; sealed < 1024; ++sealed) (void)client.send();
    CHECK_FALSE(client.keys.seal_limit_reached());
    Packet packet = client.send();
    CHECK(client.keys.seal_limit_reached());
    packet.bytes.back() ^= std::byte{1};
    for (int i = 0; i < 16; ++i) CHECK_FALSE(server.receive(packet));
    CHECK_FALSE(server.keys.forgery_limit_reached());
    CHECK_FALSE(server.receive(packet));
    CHECK(server.keys.forgery_limit_reached());
    test::fault_case(26, "limits lowered to 2^10 packets and 16 forgeries: reported at the 1,024th and the 17th", "at ",
                     sealed);
}

TEST_CASE("F22 packets shorter than header and tag are refused") {
    Pair pair;
    for (std::size_t size = 0; size < kHeader + kTagBytes; ++size) {
        CHECK_FALSE(pair.server.receive({kPath, 0, false, std::vector<std::byte>(size)}));
        CHECK_FALSE(pair.server.receive({kPath, 0, true, std::vector<std::byte>(size)}));
    }
    test::fault_case(22, "packets shorter than header and tag: none opens", 2 * (kHeader + kTagBytes), " refused");
}
