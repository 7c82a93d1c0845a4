#include "proto/transport_parameters.hpp"

#include <vector>

#include "test/catch.hpp"
#include "test/fault_case.hpp"
#include "wire/cursor.hpp"

using namespace udtx;
using proto::TransportParameters;

TEST_CASE("transport parameters survive the wire") {
    TransportConfig config;
    config.idle_timeout = std::chrono::seconds(7);
    config.max_receive_rate = Rate::bits_per_second(5e8);
    const auto p = TransportParameters::from(config, 2.5e9, 1.25e9);
    const auto back = proto::decode_parameters(proto::encode(p));
    REQUIRE(back);
    CHECK(back->idle_timeout_ms == 7000);
    CHECK(back->stream_window == config.stream_window);
    CHECK(back->connection_window == config.connection_window);
    CHECK(back->max_streams == config.max_streams);
    CHECK(back->max_datagram == config.max_datagram);
    CHECK(back->aes_speed == 2500);
    CHECK(back->chacha_speed == 1250);
    CHECK(back->max_paths == config.max_paths);
    CHECK(back->receive_rate == 500'000'000);
    CHECK(TransportParameters::from(TransportConfig(), 0, 0).receive_rate == 0);  // any rate
}

TEST_CASE("a reset token has 16 bytes, comes once, or not at all") {
    TransportParameters p = TransportParameters::from(TransportConfig{}, 1e9, 1e9);
    CHECK_FALSE((*proto::decode_parameters(proto::encode(p))).reset_token.has_value());
    p.reset_token.emplace().fill(std::byte{0x5a});
    const auto whole = proto::encode(p);
    const auto back = proto::decode_parameters(whole);
    REQUIRE(back);
    CHECK(back->reset_token == p.reset_token);
    CHECK(back->max_datagram == p.max_datagram);
    auto twice = whole;
    twice.insert(twice.end(), whole.end() - 18, whole.end());
    CHECK_FALSE(proto::decode_parameters(twice));
    auto shorter = whole;
    shorter.pop_back();
    shorter[shorter.size() - 16] = std::byte{15};
    CHECK_FALSE(proto::decode_parameters(shorter));
}

TEST_CASE("every truncation and a repeated parameter are malformed, an unknown one is skipped") {
    const auto whole = proto::encode(TransportParameters::from(TransportConfig{}, 1e9, 1e9));
    for (std::size_t n = 1; n < whole.size(); ++n) {
        const auto r = proto::decode_parameters(std::span(whole).first(n));
        // A cut between two parameters parses. Then the missing datagram size is refused, or the others keep their
        // defaults.
        if (r) CHECK(r->max_datagram >= 1200);
    }
    auto twice = whole;
    twice.insert(twice.end(), whole.begin(), whole.end());
    CHECK_FALSE(proto::decode_parameters(twice));
    auto extended = whole;
    for (const int b : {0x3f, 2, 1, 2}) extended.push_back(static_cast<std::byte>(b));
    CHECK(proto::decode_parameters(extended));
    CHECK_FALSE(proto::decode_parameters({}));
}

TEST_CASE("an unknown mandatory parameter names the release that knows it") {
    auto extended = proto::encode(TransportParameters::from(TransportConfig{}, 1e9, 1e9));
    for (const int b : {0x80, 0, 0x40, 0, 3, 0x43, 0xe9, 7}) extended.push_back(static_cast<std::byte>(b));
    const auto read = proto::decode_parameters(extended);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::protocol);
    CHECK(read.error().message.find("install udtx 1.1 or newer") != std::string::npos);
    for (int b = 0; b < 3; ++b) extended.pop_back();
    extended.back() = std::byte{0};
    const auto without = proto::decode_parameters(extended);
    REQUIRE_FALSE(without);
    CHECK(without.error().code == ErrorCode::malformed);
}

TEST_CASE("the cipher is the one whose slower end is fastest") {
    TransportParameters a;
    TransportParameters b;
    a.aes_speed = 3000;
    a.chacha_speed = 1500;
    b.aes_speed = 200;  // no AES instructions at that end
    b.chacha_speed = 800;
    CHECK(*proto::choose_cipher(a, b) == crypto::Cipher::chacha20_poly1305);
    b.aes_speed = 900;
    CHECK(*proto::choose_cipher(a, b) == crypto::Cipher::aes_256_gcm);
    a.aes_speed = 0;
    b.chacha_speed = 0;
    CHECK_FALSE(proto::choose_cipher(a, b));
}

TEST_CASE("F41 datagrams of 0 or 68 bytes are refused, windows and times of 2^62 are taken as they are") {
    for (const std::uint64_t bytes : {0U, 68U, 1199U}) {
        TransportParameters p;
        p.max_datagram = bytes;
        CHECK_FALSE(proto::decode_parameters(proto::encode(p)).ok());
    }
    TransportParameters p;
    p.max_datagram = p.connection_window = p.stream_window = p.max_streams = p.idle_timeout_ms = wire::kVarintMax;
    const auto decoded = proto::decode_parameters(proto::encode(p));
    REQUIRE(decoded.ok());
    CHECK(decoded->stream_window == wire::kVarintMax);
    test::fault_case(41, "datagrams of 0, 68 and 1,199 bytes refused, windows of 2^62 decoded", "2^62 - 1 - ",
                     wire::kVarintMax - decoded->stream_window);
}

TEST_CASE("a receive rate too small or too large for the field is announced as the nearest that fits") {
    const auto announced = [](double bps) {
        TransportConfig config;
        config.max_receive_rate = Rate::bits_per_second(bps);
        return TransportParameters::from(config, 1e9, 1e9).receive_rate;
    };
    CHECK(announced(0.5) == 1);
    CHECK(announced(5e6) == 5'000'000);
    CHECK(announced(1e30) <= wire::kVarintMax);
    CHECK(announced(1e30) > 1'000'000'000'000'000);
}
