#include "stream/send_stream.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "test/catch.hpp"

using udtx::Chunk;
using udtx::stream::SendStream;

namespace {

constexpr std::uint64_t kNoLimit = 1ULL << 40U;

std::vector<std::byte> pattern(std::uint64_t offset, std::size_t n) {
    std::vector<std::byte> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>((offset + i) * 31 + ((offset + i) >> 8U));
    return out;
}

void write_pattern(SendStream& s, std::size_t n) { s.write(Chunk::copy_of(pattern(s.written(), n))); }

}  // namespace

TEST_CASE("pieces cross chunk borders and carry the right bytes") {
    SendStream s(kNoLimit);
    write_pattern(s, 100);
    write_pattern(s, 3);
    write_pattern(s, 200);
    const auto piece = s.next(250, kNoLimit);
    REQUIRE(piece);
    CHECK(piece->length == 250);
    std::vector<std::byte> out(250);
    s.copy(0, out);
    CHECK(out == pattern(0, 250));
    std::vector<std::byte> middle(10);
    s.copy(98, middle);
    CHECK(middle == pattern(98, 10));
}

TEST_CASE("flow control bounds new bytes, not lost ones") {
    SendStream s(100);
    write_pattern(s, 300);
    auto piece = s.next(1000, kNoLimit);
    REQUIRE(piece);
    CHECK(piece->length == 100);
    s.on_sent(*piece);
    CHECK_FALSE(s.next(1000, kNoLimit));
    s.on_lost(0, 100, false);
    piece = s.next(60, 0);
    REQUIRE(piece);
    CHECK(piece->again);
    CHECK(piece->offset == 0);
    CHECK(piece->length == 60);
    s.on_sent(*piece);
    s.raise_limit(150);
    s.on_sent(*s.next(1000, kNoLimit));
    CHECK(s.next(1000, 20)->length == 20);
}

TEST_CASE("the end goes with the last byte, alone when late, and again when lost") {
    SendStream s(kNoLimit);
    write_pattern(s, 10);
    s.on_sent(*s.next(10, kNoLimit));
    CHECK_FALSE(s.pending(kNoLimit));
    s.finish();
    auto fin = s.next(10, kNoLimit);
    REQUIRE(fin);
    CHECK(fin->fin);
    CHECK(fin->length == 0);
    s.on_sent(*fin);
    CHECK_FALSE(s.pending(kNoLimit));
    s.on_lost(10, 0, true);
    CHECK(s.pending(kNoLimit));
    s.on_sent(*s.next(10, kNoLimit));
    s.on_acked(10, 0, true);
    CHECK_FALSE(s.over());
    s.on_acked(0, 10, false);
    CHECK(s.over());
    CHECK(s.buffered() == 0);
}

TEST_CASE("chunks are let go as soon as they are acknowledged, in any order") {
    SendStream s(kNoLimit);
    std::shared_ptr<std::byte[]> first(new std::byte[8]);
    std::shared_ptr<std::byte[]> second(new std::byte[8]);
    const std::weak_ptr<std::byte[]> watch_first = first;
    const std::weak_ptr<std::byte[]> watch_second = second;
    s.write(Chunk(std::move(first), 8));
    s.write(Chunk(std::move(second), 8));
    s.on_sent(*s.next(16, kNoLimit));
    s.on_acked(8, 8, false);
    CHECK(watch_second.expired());
    CHECK_FALSE(watch_first.expired());
    s.on_acked(0, 4, false);
    s.on_acked(0, 4, false);  // acknowledged twice, because a copy was acknowledged too
    CHECK_FALSE(watch_first.expired());
    s.on_acked(4, 4, false);
    CHECK(watch_first.expired());
    CHECK(s.buffered() == 0);
}

TEST_CASE("what was acknowledged in the meantime is not sent again") {
    SendStream s(kNoLimit);
    write_pattern(s, 30);
    s.on_sent(*s.next(30, kNoLimit));
    s.on_acked(10, 10, false);
    s.on_lost(0, 30, false);
    auto a = s.next(100, 0);
    REQUIRE(a);
    CHECK(a->offset == 0);
    CHECK(a->length == 10);
    s.on_sent(*a);
    auto b = s.next(100, 0);
    REQUIRE(b);
    CHECK(b->offset == 20);
    CHECK(b->length == 10);
    s.on_acked(20, 10, false);
    CHECK_FALSE(s.pending(0));
}

TEST_CASE("a piece may leave ahead of its turn, and the gap is filled without more credit") {
    SendStream s(1000);
    write_pattern(s, 2000);
    s.finish();
    s.on_sent(*s.next(100, 500));
    const auto ahead = s.next(100, 400, 300);
    REQUIRE(ahead);
    CHECK(ahead->offset == 300);
    CHECK(ahead->growth == 300);
    s.on_sent(*ahead);
    CHECK(s.sent() == 100);
    CHECK(s.highest() == 400);
    REQUIRE(s.sent_ahead().size() == 1);
    CHECK(s.waiting() == 2000 - 200);

    // Data that was sent ahead is not sent again: a piece ends before it or starts after it.
    CHECK(s.next(100, 100, 350)->offset == 400);
    CHECK_FALSE(s.next(100, 0, 350));
    auto gap = s.next(1000, 0);
    REQUIRE(gap);
    CHECK(gap->offset == 100);
    CHECK(gap->length == 200);
    CHECK(gap->growth == 0);
    s.on_sent(*gap);
    CHECK(s.sent() == 400);
    CHECK(s.sent_ahead().empty());
    CHECK_FALSE(s.pending(0));
    CHECK_FALSE(s.next(100, 1000, 1000));  // the stream's limit applies there, too

    s.on_acked(100, 200, false);
    CHECK(s.acked_below() == 0);
    s.on_acked(0, 100, false);
    CHECK(s.acked_below() == 300);
}

TEST_CASE("the end may leave ahead of its turn") {
    SendStream s(kNoLimit);
    write_pattern(s, 300);
    s.finish();
    const auto last = s.next(100, kNoLimit, 200);
    REQUIRE(last);
    CHECK(last->fin);
    s.on_sent(*last);
    CHECK(s.pending(0));
    const auto rest = s.next(1000, 0);
    REQUIRE(rest);
    CHECK(rest->length == 200);
    CHECK_FALSE(rest->fin);
    s.on_sent(*rest);
    CHECK_FALSE(s.pending(kNoLimit));
    s.on_acked(0, 200, false);
    s.on_acked(200, 100, true);
    CHECK(s.over());
}

TEST_CASE("random loss, acknowledgement and sending deliver every byte once to a model") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::uint64_t state = seed;
        const auto random = [&state](std::uint64_t n) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            return (state >> 33U) % n;
        };
        SendStream s(kNoLimit);
        std::vector<std::byte> received(20000);
        std::vector<SendStream::Piece> flying;
        while (s.written() < received.size())
            write_pattern(s, std::min<std::size_t>(1 + random(700), received.size() - s.written()));
        s.finish();
        for (int guard = 0; !s.over() && guard < 100000; ++guard) {
            const std::uint64_t from = random(3) == 0 ? s.sent() + random(2000) : 0;
            if (const auto piece = s.next(1 + random(300), kNoLimit, from)) {
                s.copy(piece->offset, std::span(received).subspan(piece->offset, piece->length));
                s.on_sent(*piece);
                flying.push_back(*piece);
            }
            if (!flying.empty() && random(2) == 0) {
                const std::size_t i = random(flying.size());
                const auto p = flying[i];
                flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(i));
                if (random(4) == 0) {
                    s.on_lost(p.offset, p.length, p.fin);
                } else {
                    s.on_acked(p.offset, p.length, p.fin);
                }
            }
        }
        INFO("seed " << seed);
        REQUIRE(s.over());
        CHECK(received == pattern(0, received.size()));
    }
}
