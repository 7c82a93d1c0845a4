// The golden files of the wire format: headers, frames, transport parameters.
#include <string>
#include <utility>
#include <vector>

#include "base/release.hpp"
#include "compat/golden.hpp"
#include "proto/transport_parameters.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "unit/wire/frame_equality.hpp"
#include "wire/frame.hpp"
#include "wire/header.hpp"

using namespace udtx;
using namespace udtx::wire;

namespace {

constexpr std::uint32_t kVersion4 = 0x75647804;
constexpr ConnectionId kFar{0x0102030405060708};
constexpr ConnectionId kNear{0x0a0b0c0d};

std::vector<std::byte> counted(std::uint8_t from, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(from + i);
    return bytes;
}

LongHeader long_header(LongType type, ConnectionId destination, ConnectionId source) {
    LongHeader header;
    header.type = type;
    header.version = kVersion4;
    header.destination = destination;
    header.source = source;
    return header;
}

void check_long(const std::vector<std::byte>& golden, const LongHeader& expected) {
    const auto header = parse_long_header(golden);
    REQUIRE(header);
    CHECK(header->type == expected.type);
    CHECK(header->version == expected.version);
    CHECK(header->destination == expected.destination);
    CHECK(header->source == expected.source);
    CHECK(same(header->token, expected.token));
    CHECK(header->packet_number == expected.packet_number);
    std::vector<std::byte> written(golden.size());
    const std::size_t size = write_long_header(*header, written);
    // What the caller appends: a tag, or the versions.
    REQUIRE(size + (header->version == 0 ? 8 : kTagBytes) == golden.size());
    CHECK(std::equal(written.begin(), written.begin() + static_cast<std::ptrdiff_t>(size), golden.begin()));
}

void check_short(const std::vector<std::byte>& golden, const ShortHeader& expected) {
    const auto header = parse_short_header(golden);
    REQUIRE(header);
    CHECK(header->destination == expected.destination);
    CHECK(header->path == expected.path);
    CHECK(header->packet_number == expected.packet_number);
    CHECK(header->key_phase == expected.key_phase);
    CHECK(header->pair_second == expected.pair_second);
    std::vector<std::byte> written(golden.size());
    REQUIRE(write_short_header(*header, written) + kTagBytes == golden.size());
    CHECK(written == golden);
}

}  // namespace

TEST_CASE("packet headers of 0.2 are read and written") {
    const auto golden = test::golden_map("headers.txt");
    REQUIRE(golden.size() == 7);
    const auto token = counted(1, 8);
    const auto cookie = counted(0x20, 20);
    LongHeader hello = long_header(LongType::hello, kFar, kNear);
    check_long(golden.at("hello without a token"), hello);
    hello.token = token;
    hello.packet_number = 7;
    check_long(golden.at("hello"), hello);
    LongHeader retry = long_header(LongType::retry, kNear, kFar);
    retry.token = cookie;
    check_long(golden.at("retry"), retry);
    LongHeader handshake = long_header(LongType::handshake, ConnectionId{0x0e0f1011}, kNear);
    handshake.packet_number = 0x01020304;
    check_long(golden.at("handshake"), handshake);
    LongHeader negotiation = long_header(LongType::version_negotiation, kNear, kFar);
    negotiation.version = 0;
    check_long(golden.at("version negotiation"), negotiation);
    ShortHeader data;
    data.destination = kNear;
    data.packet_number = 9;
    check_short(golden.at("short"), data);
    data.path = PathId{3};
    data.packet_number = 0xfffffe;
    data.key_phase = data.pair_second = true;
    check_short(golden.at("short with key phase and pair bit"), data);
}

TEST_CASE("version negotiation of 0.2 lists versions behind its header") {
    const auto golden = test::golden_map("headers.txt").at("version negotiation");
    const auto header = parse_long_header(golden);
    REQUIRE(header);
    Reader list(std::span<const std::byte>(golden).subspan(header->header_bytes));
    CHECK(list.u32() == kVersion4);
    CHECK(list.u32() == kVersion4 - 1);
    CHECK(list.empty());
}

namespace {

/// An ACK that outlives its view.
AckFrameView ack_of(PathId path, std::uint64_t delay, const std::vector<AckRange>& ranges,
                    const std::vector<AckArrival>& arrivals) {
    static std::vector<std::unique_ptr<AckFrame>> kept;
    AckFrame& ack = *kept.emplace_back(std::make_unique<AckFrame>());
    ack.path = path;
    ack.delay_us = delay;
    ack.count = ranges.size();
    std::ranges::copy(ranges, ack.ranges.begin());
    ack.arrival_count = arrivals.size();
    std::ranges::copy(arrivals, ack.arrivals.begin());
    return {&ack};
}

const std::vector<std::byte> kCrypto = test::from_hex("deadbeef");
const std::vector<std::byte> kStream = test::from_text("data");
const std::vector<std::byte> kLastBytes = test::from_text("hi");
const std::vector<std::byte> kExtra = test::from_hex("0102");

std::vector<std::pair<std::string, Frame>> frames() {
    return {
        {"PADDING", PaddingFrame{3}},
        {"PING", PingFrame{}},
        {"ACK", ack_of(PathId{3}, 5, {{18, 20}, {10, 16}, {7, 7}}, {})},
        {"ACK_TIMED", ack_of(PathId{0}, 25, {{901, 1000}}, {{984, 230}, {992, 100}})},
        {"CRYPTO", CryptoFrame{1200, kCrypto}},
        {"STREAM", StreamFrame{StreamId::make(1, StreamKind::ordered, Role::server), 70000, kStream, false}},
        {"STREAM to the end", StreamFrame{StreamId::make(0, StreamKind::unordered, Role::client), 0, kLastBytes, true}},
        {"MAX_DATA", MaxDataFrame{16777216}},
        {"MAX_STREAM_DATA", MaxStreamDataFrame{StreamId{6}, 1048576}},
        {"RESET_STREAM", ResetStreamFrame{StreamId{5}, 7, 70004}},
        {"STOP_SENDING", StopSendingFrame{StreamId{5}, 7}},
        {"RATE_FEEDBACK", RateFeedbackFrame{.path = PathId{1},
                                            .granularity_us = 1,
                                            .line_error = 4,
                                            .pair_bytes = 1472,
                                            .arrival_pps = 81274,
                                            .capacity_pps = 83333,
                                            .pair_gap_ns = 12000,
                                            .line_pps = 83334,
                                            .receive_time_us = 123456789}},
        {"MAX_STREAMS", MaxStreamsFrame{128}},
        {"PATH_CHALLENGE", PathChallengeFrame{0x0102030405060708}},
        {"PATH_RESPONSE", PathResponseFrame{0x0102030405060708}},
        {"HANDSHAKE_DONE", HandshakeDoneFrame{}},
        {"CLOSE", CloseFrame{2, false, "late"}},
        {"CLOSE by the application", CloseFrame{0, true, {}}},
        {"PATH_STATUS", PathStatusFrame{PathId{2}, PathStatus::standby, 9, 1500}},
        {"PATH_ABANDON", PathAbandonFrame{PathId{2}, 0}},
        {"ECN", EcnFrame{PathId{1}, 1000, 0, 17}},
        {"optional extension", ExtensionFrame{0x5a, kExtra}},
    };
}

}  // namespace

TEST_CASE("each frame of 0.2 is read and written") {
    auto golden = test::golden_map("frames.txt");
    AckFrame scratch;
    for (const auto& [name, expected] : frames()) {
        INFO(name);
        const auto bytes = golden.at(name);
        golden.erase(name);
        Reader in(bytes);
        const auto frame = read_frame(in, scratch);
        REQUIRE(frame.ok());
        CHECK(in.empty());
        CHECK(same(*frame, expected));
        std::vector<std::byte> memory(bytes.size() + 8);
        Writer out(memory);
        if (!name.ends_with("to the end")) {
            REQUIRE(write_frame(out, *frame));
        } else {
            out = Writer(std::span(memory).first(bytes.size()));
            const auto& stream = std::get<StreamFrame>(*frame);
            const auto room = write_stream_header(out, stream.id, stream.offset, stream.data.size(), stream.fin);
            REQUIRE((room.written && room.fin && room.payload.size() == stream.data.size()));
            std::ranges::copy(stream.data, room.payload.begin());
        }
        CHECK(test::to_hex(out.written()) == test::to_hex(bytes));
    }
    REQUIRE(golden.size() == 1);
    Reader mandatory(golden.at("mandatory extension"));
    const auto refused = read_frame(mandatory, scratch);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("install udtx 1.1 or newer") != std::string::npos);
}

namespace {

proto::TransportParameters parameters_of_client() {
    proto::TransportParameters p;
    p.idle_timeout_ms = 30000;
    p.connection_window = 1U << 24U;
    p.stream_window = 1U << 23U;
    p.max_streams = 1024;
    p.max_datagram = 65000;
    p.aes_speed = 2500;
    p.chacha_speed = 1250;
    p.max_paths = 8;
    p.release = 2;
    p.versions = {kVersion4};
    return p;
}

proto::TransportParameters parameters_of_server() {
    proto::TransportParameters p = parameters_of_client();
    p.idle_timeout_ms = 0;
    p.max_datagram = 1472;
    p.chacha_speed = 0;
    p.cipher = static_cast<std::uint64_t>(crypto::Cipher::aes_256_gcm);
    p.receive_rate = 500'000'000;
    p.max_paths = 2;
    std::ranges::copy(counted(0, 16), p.reset_token.emplace().begin());
    p.versions = {kVersion4 + 1, kVersion4};
    p.tcp_ports = {7011, 443};
    return p;
}

}  // namespace

TEST_CASE("transport parameters of 0.2 are read and written") {
    const auto golden = test::golden_map("parameters.txt");
    REQUIRE(golden.size() == 2);
    for (const auto& [name, expected] :
         {std::pair{"client", parameters_of_client()}, {"server", parameters_of_server()}}) {
        INFO(name);
        const auto read = proto::decode_parameters(golden.at(name));
        REQUIRE(read.ok());
        CHECK(read->release == 2);
        CHECK(read->max_datagram == expected.max_datagram);
        CHECK(read->reset_token == expected.reset_token);
        CHECK(read->versions == expected.versions);
        CHECK(read->tcp_ports == expected.tcp_ports);
        CHECK(test::to_hex(proto::encode(*read)) == test::to_hex(golden.at(name)));
        CHECK(test::to_hex(proto::encode(expected)) == test::to_hex(golden.at(name)));
    }
}
