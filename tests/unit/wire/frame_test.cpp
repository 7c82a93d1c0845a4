#include <array>
#include <memory>
#include <string>
#include <vector>

#include "frame_equality.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::wire;

namespace {

const std::vector<std::byte> kData(300, std::byte{0x5a});
const std::string kReason(kMaxCloseReason, 'r');

std::vector<AckFrame> make_acks() {
    std::vector<AckFrame> acks(5);
    acks[0].ranges[0] = {0, 0};
    acks[0].count = 1;
    acks[1].path = PathId{255};
    acks[1].delay_us = kMaxMicroseconds;
    acks[1].ranges[0] = {0, kVarintMax};
    acks[1].count = 1;
    acks[2].ranges[0] = {kVarintMax, kVarintMax};
    acks[2].ranges[1] = {2, kVarintMax - 2};
    acks[2].ranges[2] = {0, 0};
    acks[2].count = 3;
    for (std::size_t i = 0; i < kMaxAckRanges; ++i) {
        const PacketNumber n = 100 * (kMaxAckRanges - i);
        acks[3].ranges[i] = {n - i % 90, n};
    }
    acks[3].count = kMaxAckRanges;
    acks[4].ranges[0] = {kVarintMax - 5, kVarintMax};
    acks[4].count = 1;
    for (std::size_t i = 0; i < kMaxAckArrivals; ++i) {
        acks[4].arrivals[i] = {i == 0 ? 0 : kVarintMax - 300 + 20 * i, i == 0 ? kMaxMicroseconds : 15 - i};
    }
    acks[4].arrival_count = kMaxAckArrivals;
    return acks;
}

// Each frame type with the smallest and the largest values of its fields.
std::vector<Frame> samples() {
    static const std::vector<AckFrame> acks = make_acks();
    const StreamId top{kVarintMax};
    std::vector<Frame> frames{
        PaddingFrame{1},
        PaddingFrame{500},
        PingFrame{},
        CryptoFrame{0, {}},
        CryptoFrame{kVarintMax - kData.size(), kData},
        StreamFrame{StreamId{0}, 0, {}, true},
        StreamFrame{StreamId{0}, 0, {}, false},
        StreamFrame{StreamId{5}, 63, kData, false},
        StreamFrame{top, kVarintMax - kData.size(), kData, true},
        MaxDataFrame{0},
        MaxDataFrame{kVarintMax},
        MaxStreamDataFrame{StreamId{0}, 0},
        MaxStreamDataFrame{top, kVarintMax},
        MaxStreamsFrame{0},
        MaxStreamsFrame{kVarintMax},
        ResetStreamFrame{StreamId{0}, 0, 0},
        ResetStreamFrame{top, kVarintMax, kVarintMax},
        StopSendingFrame{StreamId{0}, 0},
        StopSendingFrame{top, kVarintMax},
        RateFeedbackFrame{},
        RateFeedbackFrame{PathId{255}, kMaxGranularity, kWholeError, kMaxPairBytes, kVarintMax, kVarintMax, kVarintMax,
                          kVarintMax, kMaxMicroseconds},
        PathChallengeFrame{0},
        PathChallengeFrame{~std::uint64_t{0}},
        PathResponseFrame{0x0123456789abcdefULL},
        HandshakeDoneFrame{},
        CloseFrame{0, false, {}},
        CloseFrame{kVarintMax, true, kReason},
        PathStatusFrame{},
        PathStatusFrame{PathId{255}, PathStatus::suspended, kVarintMax, kMaxPathWeight},
        PathAbandonFrame{},
        PathAbandonFrame{PathId{255}, kVarintMax},
        EcnFrame{},
        EcnFrame{PathId{255}, kVarintMax, kVarintMax, kVarintMax},
        ExtensionFrame{kExtensionTypes, {}},
        ExtensionFrame{kMandatoryTypes - 1, kData},
    };
    for (const AckFrame& ack : acks) frames.emplace_back(AckFrameView{&ack});
    return frames;
}

std::vector<std::byte> encode(const Frame& frame) {
    std::vector<std::byte> memory(8192);
    Writer out(memory);
    REQUIRE(write_frame(out, frame));
    memory.resize(out.size());
    return memory;
}

bool is_malformed(std::span<const std::byte> bytes) {
    AckFrame scratch;
    Reader in(bytes);
    const auto frame = read_frame(in, scratch);
    return !frame.ok() && frame.error().code == ErrorCode::malformed;
}

bool is_malformed(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
    return is_malformed(bytes);
}

}  // namespace

TEST_CASE("every frame round-trips") {
    AckFrame scratch;
    for (const Frame& frame : samples()) {
        INFO("frame " << frame.index());
        auto bytes = encode(frame);
        Reader in(bytes);
        const auto back = read_frame(in, scratch);
        REQUIRE(back.ok());
        CHECK(same(*back, frame));
        CHECK(in.empty());
    }
}

TEST_CASE("frames follow one another in a packet") {
    std::vector<std::byte> memory(32768);
    Writer out(memory);
    const auto frames = samples();
    // Adjacent padding frames decode as one, so the two sample runs are kept apart.
    for (std::size_t i = 1; i < frames.size(); ++i) REQUIRE(write_frame(out, frames[i]));
    Reader in(out.written());
    AckFrame scratch;
    for (std::size_t i = 1; i < frames.size(); ++i) {
        const auto back = read_frame(in, scratch);
        REQUIRE(back.ok());
        CHECK(same(*back, frames[i]));
    }
    CHECK(in.empty());
}

TEST_CASE("every truncation of every frame is malformed and reads nothing beyond") {
    for (const Frame& frame : samples()) {
        if (std::holds_alternative<PaddingFrame>(frame)) continue;
        INFO("frame " << frame.index());
        const auto bytes = encode(frame);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            // An exact allocation lets the address sanitizer detect a read beyond it.
            const auto exact = std::make_unique<std::byte[]>(size);
            std::copy_n(bytes.begin(), size, exact.get());
            if (!is_malformed(std::span<const std::byte>(exact.get(), size))) {
                FAIL("truncated to " << size << " of " << bytes.size() << " bytes it was accepted");
            }
        }
    }
}

TEST_CASE("a frame that does not fit leaves nothing behind") {
    for (const Frame& frame : samples()) {
        INFO("frame " << frame.index());
        const std::size_t whole = encode(frame).size();
        std::vector<std::byte> memory(whole);
        for (std::size_t room = 0; room < whole; ++room) {
            Writer out(std::span<std::byte>(memory).first(room));
            if (write_frame(out, frame) || out.size() != 0) FAIL("written into " << room << " of " << whole);
        }
        Writer out(memory);
        CHECK(write_frame(out, frame));
    }
}

TEST_CASE("values over their bounds are malformed") {
    CHECK(is_malformed({}));
    for (const int type : {0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x17, 0x1f, 0x20, 0x3f, 0x40, 0x7f, 0x80, 0xff}) {
        CHECK(is_malformed({type}));
    }
    for (const int type : {0x05, 0x06, 0x07, 0x08, 0x09, 0x17, 0x1f}) CHECK(is_malformed({type, 0, 0, 0, 0, 0, 0, 0}));
    // STREAM and CRYPTO frames that end at 2^62.
    CHECK(is_malformed({0x3c, 0, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}));
    CHECK_FALSE(is_malformed({0x3c, 0, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0}));
    CHECK(is_malformed({0x3c, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(is_malformed({0x03, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}));
    // A length of 2^62-1 in a short buffer.
    CHECK(is_malformed({0x20, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0}));
    // RATE_FEEDBACK: a pair of 65,536 bytes; an error of 1,001; a granularity of 65,536 us; a receive time of 2^52.
    // Then the largest values that are accepted.
    CHECK(is_malformed({0x0e, 0, 0, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0}));
    CHECK(is_malformed({0x0e, 0, 0, 0, 0, 0, 0, 0x43, 0xe9, 0, 0}));
    CHECK(is_malformed({0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0}));
    CHECK(is_malformed({0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x10, 0, 0, 0, 0, 0, 0}));
    CHECK_FALSE(is_malformed({0x0e, 0, 0, 0, 0, 0x80, 0, 0xff, 0xff, 0, 0x43, 0xe8, 0, 0}));
    CHECK_FALSE(is_malformed({0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0xff, 0xff, 0}));
    CHECK_FALSE(is_malformed({0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
    // PATH_STATUS: an unknown status; a weight above its bound.
    CHECK(is_malformed({0x14, 1, 3, 0, 0}));
    CHECK(is_malformed({0x14, 1, 0, 0, 0xbb, 0x9a, 0xca, 0x01}));
    CHECK_FALSE(is_malformed({0x14, 1, 2, 0, 0xbb, 0x9a, 0xca, 0x00}));
    // CLOSE: neither transport nor application; a reason of 257 bytes.
    CHECK(is_malformed({0x13, 2, 0, 0}));
    std::vector<std::byte> close(5 + 257, std::byte{'x'});
    constexpr std::array<std::uint8_t, 5> head{0x13, 0, 0, 0x41, 0x01};
    std::transform(head.begin(), head.end(), close.begin(), [](std::uint8_t b) { return std::byte{b}; });
    CHECK(is_malformed(close));
}

TEST_CASE("the writer refuses values over their bounds") {
    std::vector<std::byte> memory(1024);
    Writer out(memory);
    const std::string reason(kMaxCloseReason + 1, 'r');
    CHECK_FALSE(write_frame(out, CloseFrame{0, false, reason}));
    CHECK_FALSE(write_frame(out, MaxDataFrame{kVarintMax + 1}));
    CHECK_FALSE(write_frame(out, PaddingFrame{0}));
    CHECK_FALSE(write_frame(out, PathStatusFrame{PathId{1}, PathStatus::available, 0, kMaxPathWeight + 1}));
    RateFeedbackFrame feedback;
    feedback.line_error = kWholeError + 1;
    CHECK_FALSE(write_frame(out, feedback));
    CHECK(out.size() == 0);
}

TEST_CASE("an offset may have more bytes than it needs") {
    AckFrame scratch;
    constexpr std::array<std::uint8_t, 9> bytes{0x2d, 5, 0, 0, 0, 9, 2, 1, 2};
    Reader in(std::as_bytes(std::span(bytes)));
    const auto frame = read_frame(in, scratch);
    REQUIRE(frame.ok());
    CHECK(same(*frame, StreamFrame{StreamId{5}, 9, std::as_bytes(std::span(bytes)).last(2), true}));
}

TEST_CASE("an unknown frame is skipped, and a mandatory one names the release that knows it") {
    AckFrame scratch;
    constexpr std::array<std::uint8_t, 5> optional{0x5a, 2, 1, 2, 0x01};
    Reader skipped(std::as_bytes(std::span(optional)));
    CHECK(read_frame(skipped, scratch).ok());
    CHECK(std::holds_alternative<PingFrame>(*read_frame(skipped, scratch)));
    constexpr std::array<std::uint8_t, 6> mandatory{0x80, 0x43, 0xe9, 2, 1, 2};
    Reader refused(std::as_bytes(std::span(mandatory)));
    const auto frame = read_frame(refused, scratch);
    REQUIRE_FALSE(frame.ok());
    CHECK(frame.error().code == ErrorCode::protocol);
    CHECK(frame.error().message.find("install udtx 1.1 or newer") != std::string::npos);
}

TEST_CASE("a frame is small enough to be handed about") { CHECK(sizeof(Result<Frame>) <= 64); }
