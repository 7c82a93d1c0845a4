#include "transfer/checksum.hpp"

#include <string>

#include "test/catch.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/file/pieces.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
Digest hash(HashAlgorithm algorithm, const std::string& text) {
    Hasher hasher(algorithm);
    hasher.update(bytes_of(text));
    return hasher.finish();
}

}  // namespace

TEST_CASE("digests are those of the published algorithms") {
    // SHA-256: FIPS 180-2, appendix B.1. XXH3: xxHash's own check value for empty input and seed 0.
    CHECK(hash(HashAlgorithm::sha256, "abc").hex() ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hash(HashAlgorithm::xxh3_128, "").hex() == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("hashing in parts and after a reset gives the same") {
    for (const auto algorithm : {HashAlgorithm::xxh3_128, HashAlgorithm::sha256}) {
        Hasher hasher(algorithm);
        hasher.update(bytes_of("rubbish"));
        hasher.reset();
        hasher.update(bytes_of("ab"));
        hasher.update(bytes_of("c"));
        CHECK(hasher.finish() == hash(algorithm, "abc"));
        CHECK(hash(algorithm, "abc").bytes().size() == digest_bytes(algorithm));
        CHECK(hash(algorithm, "abc") != hash(algorithm, "abd"));
    }
}

TEST_CASE("a file is verified whichever of piece and digest comes first") {
    const auto algorithm = HashAlgorithm::xxh3_128;
    FileDigest sender(algorithm, 30);
    sender.add(0, 10, hash(algorithm, "one"));
    sender.add(20, 10, hash(algorithm, "two"));
    FileVerifier receiver(algorithm, 30);
    receiver.computed(1, {20, 10, hash(algorithm, "two")});
    receiver.expected(0, hash(algorithm, "one"));
    CHECK(receiver.verified() == 0);
    receiver.computed(0, {0, 10, hash(algorithm, "one")});
    CHECK(receiver.verified() == 1);
    receiver.expected(1, hash(algorithm, "two"));
    CHECK(receiver.verified() == 2);
    CHECK_FALSE(receiver.mismatch());
    CHECK(receiver.finish() == sender.finish());
}

TEST_CASE("an altered piece, another place and another size are noticed") {
    const auto algorithm = HashAlgorithm::xxh3_128;
    FileVerifier altered(algorithm, 10);
    altered.computed(0, {0, 10, hash(algorithm, "x")});
    altered.expected(0, hash(algorithm, "y"));
    CHECK(altered.mismatch());

    const auto digest = [&](std::uint64_t size, std::uint64_t offset) {
        FileDigest d(algorithm, size);
        d.add(offset, 10, hash(algorithm, "x"));
        return d.finish();
    };
    CHECK(digest(10, 0) == digest(10, 0));
    CHECK(digest(20, 0) != digest(20, 10));
    CHECK(digest(10, 0) != digest(20, 0));
}

TEST_CASE("close codes keep their meaning across the wire") {
    for (const auto code : {ErrorCode::protocol, ErrorCode::refused, ErrorCode::file_io, ErrorCode::integrity,
                            ErrorCode::timeout, ErrorCode::interrupted, ErrorCode::internal, ErrorCode::superseded,
                            ErrorCode::authentication, ErrorCode::going_away}) {
        CHECK(error_code_for(static_cast<std::uint64_t>(close_code_for(code))) == code);
        CHECK(close_code_for(code) != CloseCode::done);
    }
    CHECK(error_code_for(12345) == ErrorCode::protocol);
}

TEST_CASE("the reason of a close carries the sender's last counters") {
    std::vector<SenderPath> sent(2);
    sent[1].id = PathId{7};
    sent[1].sent_packets = 12'345'678'901;
    sent[1].lost_packets = 12;
    sent[1].retransmitted_packets = 34;
    // The MTR and a datagram's bytes stay as PATHS told them, and a path that it did not tell is added.
    std::vector<SenderPath> told(1);
    told[0].sent_packets = 5;
    told[0].datagram_bytes = 1472;
    take_last_counters(last_counters(sent), told);
    REQUIRE(told.size() == 2);
    CHECK(told[0].sent_packets == 0);
    CHECK(told[0].datagram_bytes == 1472);
    CHECK(told[1].id == PathId{7});
    CHECK(told[1].sent_packets == 12'345'678'901);
    CHECK(told[1].lost_packets == 12);
    CHECK(told[1].retransmitted_packets == 34);
}

TEST_CASE("other reasons of a close change no counters") {
    for (const char* reason : {"", "done", "0 1 2 3", "0 1 2;", "0 1 2 3;4", "256 1 2 3;", "0 1 2 -3;", "0 1 2 3 4;",
                               "0 99999999999999999999 2 3;", "0  1 2 3;", ";"}) {
        CAPTURE(reason);
        std::vector<SenderPath> told(1);
        told[0].sent_packets = 5;
        take_last_counters(reason, told);
        REQUIRE(told.size() == 1);
        CHECK(told[0].sent_packets == 5);
    }
    CHECK(last_counters(std::vector<SenderPath>(64)).empty());  // longer than a reason may be
}
