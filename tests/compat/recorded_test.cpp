// Recorded handshakes: every datagram between two ends of release 0.2, from the first HELLO to the first bytes of a
// stream in both directions. Each half is sent to an end of this release, which must understand it. Only OpenSSL 3.0
// makes the same TLS bytes from the same random ones; with another one the packets are opened by the recorded secret.
#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compat/fixed_random.hpp"
#include "compat/golden.hpp"
#include "compat/recorded_end.hpp"
#include "crypto/packet_protection.hpp"
#include "openssl/provider.hpp"
#include "proto/transport_parameters.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "wire/frame.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::test;

namespace {

constexpr Duration kDelay = 10ms;

struct Keys {
    Credentials client;
    Credentials server;
};

Keys shared_key() {
    const auto key = Credentials::from_psk(counting_secret());
    return {key, key};
}

/// Each end has an identity and trusts that of the other.
Keys identities() {
    const TemporaryDirectory directory;
    const auto make = [&](const std::string& name, const std::string& secret) {
        const FixedRandom fixed([&](std::span<std::byte> out) { std::ranges::copy(from_hex(secret), out.begin()); });
        REQUIRE(Credentials::write_identity(directory / name));
        return Credentials::from_identity_file(directory / name).value();
    };
    Keys keys{make("client", std::string(64, '1')), make("server", std::string(64, '2'))};
    REQUIRE(keys.client.trust(*keys.server.public_key()));
    REQUIRE(keys.server.trust(*keys.client.public_key()));
    return keys;
}

struct Kind {
    const char* file;
    Keys (*keys)();
};
// The server of the second one answers the first HELLO by a RETRY, as it has no key to prove.
constexpr Kind kKinds[] = {{"handshake-psk.txt", shared_key}, {"handshake-key.txt", identities}};

struct Recording {
    std::vector<std::byte> client_parameters;
    std::vector<std::byte> server_parameters;
    crypto::Secret exported{};
    std::vector<std::pair<Role, Sent>> datagrams;

    [[nodiscard]] const std::vector<std::byte>& parameters(Role role) const {
        return role == Role::client ? client_parameters : server_parameters;
    }
};

Recording recording(const std::string& file) {
    Recording out;
    for (GoldenPart& part : golden_parts(file)) {
        const std::string_view name = part.name;
        if (name == "parameters of the client") {
            out.client_parameters = std::move(part.bytes);
        } else if (name == "parameters of the server") {
            out.server_parameters = std::move(part.bytes);
        } else if (name == "exported secret") {
            REQUIRE(part.bytes.size() == out.exported.size());
            std::ranges::copy(part.bytes, out.exported.begin());
        } else {
            // "client at 20000 us"
            const Role role = name.starts_with("client") ? Role::client : Role::server;
            const std::string_view digits = name.substr(std::string_view("client at ").size());
            std::int64_t time = 0;
            REQUIRE(std::from_chars(digits.data(), digits.data() + digits.size(), time).ec == std::errc());
            out.datagrams.push_back({role, {kBegin + std::chrono::microseconds(time), std::move(part.bytes)}});
        }
    }
    return out;
}

/// Sends the recorded datagrams of the other end to `end`, each when it would arrive.
void replay(RecordedEnd& end, Role role, const Recording& recorded) {
    if (role == Role::client) end.connect();
    for (const auto& [from, sent] : recorded.datagrams) {
        if (from == role) continue;
        const Instant arrival = sent.at + kDelay;
        while (end.due() && *end.due() <= arrival) end.on_timeout(*end.due());
        end.receive(arrival, sent.datagram);
    }
}

bool same_openssl() { return std::string_view(OpenSSL_version(OPENSSL_VERSION_STRING)).starts_with("3.0."); }

}  // namespace

TEST_CASE("an end of this release completes each recorded handshake of 0.2") {
    if (!same_openssl()) {
        WARN("skipped: recorded with OpenSSL 3.0, and this is " << OpenSSL_version(OPENSSL_VERSION_STRING));
        return;
    }
    for (const Kind& kind : kKinds) {
        const Recording recorded = recording(kind.file);
        for (const Role role : {Role::client, Role::server}) {
            INFO(kind.file << ", " << (role == Role::client ? "client" : "server"));
            const Keys keys = kind.keys();
            const FixedRandom fixed(fill_for_tls);
            RecordedEnd end(role, role == Role::client ? keys.client : keys.server, recorded.parameters(role));
            replay(end, role, recorded);
            CHECK_FALSE(end.closed());
            CHECK(end.handshakes().exported() == recorded.exported);
            CHECK(end.heard() == (role == Role::client ? RecordedEnd::kAnswer : RecordedEnd::kRequest));
        }
    }
}

namespace {

/// Opens recorded packets as somebody does who knows the secret.
class Reader {
  public:
    explicit Reader(const Recording& recorded) : recorded_(recorded) {
        const auto hello = wire::parse_long_header(recorded.datagrams.front().second.datagram);
        REQUIRE((hello && hello->type == wire::LongType::hello));
        original_ = hello->destination;
        initial_ = crypto::derive_initial(provider_, original_);
    }

    /// Reads all frames of a packet. Bytes of streams are added to `said`.
    void read(Role from, std::vector<std::byte> datagram, std::string& said) {
        if (!wire::is_long_header(datagram)) return read_data(from, datagram, said);
        const auto header = wire::parse_long_header(datagram);
        REQUIRE(header);
        if (header->type == wire::LongType::retry) {
            ++retries;
            CHECK(crypto::check_retry_tag(provider_, original_, datagram));
            return;
        }
        const crypto::PacketKey& key = from == Role::client ? initial_.client : initial_.server;
        REQUIRE(key.aead->open(crypto::make_nonce(key.iv, PathId{0}, header->packet_number), datagram,
                               header->header_bytes));
        read_frames(std::span(datagram).subspan(header->header_bytes), said);
        ++handshake_packets;
    }

    unsigned retries = 0;
    unsigned handshake_packets = 0;
    unsigned data_packets = 0;

  private:
    void read_data(Role from, std::vector<std::byte>& datagram, std::string& said) {
        const auto header = wire::parse_short_header(datagram);
        REQUIRE(header);
        const Role to = from == Role::client ? Role::server : Role::client;
        crypto::SessionKeys keys(provider_, crypto::Cipher::aes_256_gcm, to, recorded_.exported);
        REQUIRE(keys.open(header->path, header->packet_number, header->key_phase, datagram, wire::kShortHeaderBytes));
        read_frames(std::span(datagram).subspan(wire::kShortHeaderBytes), said);
        ++data_packets;
    }

    static void read_frames(std::span<const std::byte> payload, std::string& said) {
        wire::AckFrame scratch;
        wire::Reader in(payload.first(payload.size() - wire::kTagBytes));
        while (!in.empty()) {
            const auto frame = wire::read_frame(in, scratch);
            REQUIRE(frame.ok());
            if (const auto* stream = std::get_if<wire::StreamFrame>(&*frame)) {
                said.append(reinterpret_cast<const char*>(stream->data.data()), stream->data.size());
            }
        }
    }

    const Recording& recorded_;
    openssl::OpensslProvider provider_;
    ConnectionId original_;
    crypto::InitialKeys initial_;
};

}  // namespace

TEST_CASE("each packet of a recorded handshake of 0.2 is read, with any OpenSSL") {
    for (const Kind& kind : kKinds) {
        INFO(kind.file);
        const Recording recorded = recording(kind.file);
        Reader reader(recorded);
        std::string said[2];
        for (const auto& [from, sent] : recorded.datagrams) {
            reader.read(from, sent.datagram, said[from == Role::client ? 0 : 1]);
        }
        CHECK(said[0] == RecordedEnd::kRequest);
        CHECK(said[1] == RecordedEnd::kAnswer);
        CHECK(reader.retries == (kind.keys == identities ? 1 : 0));
        CHECK(reader.handshake_packets >= 3);
        CHECK(reader.data_packets >= 2);
        CHECK(proto::decode_parameters(recorded.client_parameters).value().release == 2);
        CHECK(proto::decode_parameters(recorded.server_parameters).value().release == 2);
    }
}

namespace {

void print(const std::string& name, std::span<const std::byte> bytes) {
    std::cout << "\n[" << name << "]\n";
    const std::string digits = to_hex(bytes);
    for (std::size_t at = 0; at < digits.size(); at += 96) std::cout << digits.substr(at, 96) << '\n';
}

/// A handshake between two ends of this release, until both have heard the other.
void record(const Keys& keys) {
    RecordedEnd client(Role::client, keys.client, {});
    RecordedEnd server(Role::server, keys.server, {});
    std::vector<std::pair<Role, Sent>> all;
    const auto take = [&](Role role, RecordedEnd& end) {
        for (Sent& sent : end.sent()) all.emplace_back(role, std::move(sent));
        end.sent().clear();
    };
    client.connect();
    take(Role::client, client);
    std::size_t arrived = 0;
    while (client.heard().empty() || server.heard().empty()) {
        Instant next = kBegin + 10s;
        if (arrived < all.size()) next = all[arrived].second.at + kDelay;
        RecordedEnd* late = nullptr;
        for (RecordedEnd* const end : {&client, &server}) {
            if (end->due() && *end->due() < next) {
                next = *end->due();
                late = end;
            }
        }
        REQUIRE(next < kBegin + 10s);
        if (late != nullptr) {
            late->on_timeout(next);
        } else {
            const auto [from, sent] = all[arrived++];
            (from == Role::client ? server : client).receive(next, sent.datagram);
        }
        take(Role::client, client);
        take(Role::server, server);
    }
    print("parameters of the client", client.handshakes().parameters());
    print("parameters of the server", server.handshakes().parameters());
    print("exported secret", *client.handshakes().exported());
    for (const auto& [role, sent] : all) {
        const auto time = std::chrono::duration_cast<std::chrono::microseconds>(sent.at - kBegin).count();
        print((role == Role::client ? "client at " : "server at ") + std::to_string(time) + " us", sent.datagram);
    }
}

}  // namespace

// For a new release: compat_golden "record the handshake with shared keys" >golden/RELEASE/handshake-psk.txt
TEST_CASE("record the handshake with shared keys", "[.record]") {
    const FixedRandom fixed(fill_for_tls);
    record(shared_key());
}
TEST_CASE("record the handshake with identities", "[.record]") {
    const Keys keys = identities();
    const FixedRandom fixed(fill_for_tls);
    record(keys);
}
