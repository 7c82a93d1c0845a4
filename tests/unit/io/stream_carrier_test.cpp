// Datagrams on a byte stream whose other end sends what it likes, at real sockets.
#include "io/stream_carrier.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "io/event_loop.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"

using namespace udtx;
using udtx::test::from_text;

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kLeast = 25;  // docs/inside/wire-format.md, section 7
constexpr std::size_t kMost = io::StreamCarrier::kMaxDatagram;

/// A carrier whose other end is a socket that the test reads and writes.
class Ends {
  public:
    explicit Ends(const Bytes& received = {}) {
        io::ignore_broken_pipes();
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
        far_.reset(ends[1]);
        UniqueFd out(::dup(ends[0]));
        carrier_ = std::make_unique<io::StreamCarrier>(os::stream_of(UniqueFd(ends[0]), std::move(out)), Address(),
                                                       Address(), received);
    }

    io::StreamCarrier& carrier() { return *carrier_; }
    void close_far() { far_.reset(); }
    void say(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto n = ::send(far_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
            if (n <= 0) hear();
        }
    }
    void hear() {
        while (carrier_->receive([this](std::span<std::byte> datagram) {
            heard.emplace_back(datagram.begin(), datagram.end());
            return true;
        })) {
        }
    }
    /// What the carrier has written.
    Bytes read() {
        Bytes all;
        std::array<std::byte, 4096> block{};
        for (;;) {
            const auto n = ::recv(far_.get(), block.data(), block.size(), MSG_DONTWAIT);
            if (n <= 0) return all;
            all.insert(all.end(), block.begin(), block.begin() + n);
        }
    }

    std::vector<Bytes> heard;

  private:
    std::unique_ptr<io::StreamCarrier> carrier_;
    UniqueFd far_;
};

void append(Bytes& to, std::size_t size) {
    to.push_back(static_cast<std::byte>(size >> 8U));
    to.push_back(static_cast<std::byte>(size));
}
Bytes framed(const Bytes& datagram) {
    Bytes bytes;
    append(bytes, datagram.size());
    bytes.insert(bytes.end(), datagram.begin(), datagram.end());
    return bytes;
}
Bytes extension(std::size_t size) {
    Bytes bytes;
    append(bytes, 0);
    append(bytes, size);
    bytes.resize(bytes.size() + size, std::byte{0xee});
    return bytes;
}
Bytes datagram(std::size_t size, unsigned fill) { return Bytes(size, static_cast<std::byte>(fill)); }
Bytes joined(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace

TEST_CASE("datagrams come whole and extensions are skipped, wherever the stream is cut") {
    const std::vector<Bytes> sent{datagram(kLeast, 1), datagram(31, 2), datagram(kLeast + 1, 3)};
    const Bytes stream =
        joined({framed(sent[0]), extension(0), framed(sent[1]), extension(5), extension(300), framed(sent[2])});
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        INFO("cut at " << cut);
        Ends ends;
        ends.say(std::span(stream).first(cut));
        ends.hear();
        ends.say(std::span(stream).subspan(cut));
        ends.hear();
        CHECK(ends.heard == sent);
        CHECK(ends.carrier().over().value_or("open") == "open");
    }
    Ends slow;
    for (const std::byte& byte : stream) {
        slow.say(std::span(&byte, 1));
        slow.hear();
    }
    CHECK(slow.heard == sent);
    for (std::size_t read_before = 0; read_before <= stream.size(); ++read_before) {
        Ends begun(Bytes(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(read_before)));
        begun.say(std::span(stream).subspan(read_before));
        begun.hear();
        CHECK(begun.heard == sent);
    }
}

TEST_CASE("the largest datagrams come whole, also several at once and from a buffer that somebody has read") {
    const std::vector<Bytes> sent{datagram(kMost, 1), datagram(kLeast, 2), datagram(kMost, 3), datagram(kMost - 1, 4)};
    const Bytes stream = joined({framed(sent[0]), framed(sent[1]), extension(kMost), framed(sent[2]), framed(sent[3])});
    Ends ends;
    ends.say(stream);
    ends.hear();
    CHECK(ends.heard == sent);
    Ends begun(joined({stream, stream}));  // more than a carrier holds otherwise
    begun.hear();
    CHECK(begun.heard.size() == 2 * sent.size());
    CHECK(begun.heard.back() == sent.back());
}

TEST_CASE("a size that no datagram has ends the stream, after what came before it") {
    Bytes too_large;
    append(too_large, kMost + 1);
    Bytes largest;
    append(largest, 0xffff);
    Bytes one;
    append(one, 1);
    Bytes too_large_extension;
    append(too_large_extension, 0);
    append(too_large_extension, kMost + 1);
    const Bytes good = datagram(kLeast, 1);
    for (const Bytes& bad : {too_large, largest, one, framed(datagram(kLeast - 1, 2)), too_large_extension}) {
        Ends ends;
        ends.say(joined({framed(good), bad, framed(good)}));
        ends.hear();
        CHECK(ends.heard == std::vector<Bytes>{good});
        REQUIRE(ends.carrier().over());
        CHECK(*ends.carrier().over() == "the peer sent something else than datagrams");
        CHECK(ends.carrier().ended());
        ends.carrier().send(good, good.size());
        ends.carrier().flush();
        CHECK(ends.carrier().queued() == 0);
        CHECK(ends.read().empty());
        ends.hear();
        CHECK(ends.heard.size() == 1);
    }
}

TEST_CASE("a stream of another protocol is passed on as datagrams or ends, and nothing is read behind its end") {
    for (const std::string text : {"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
                                   "\x16\x03\x01\x02", "\xff\xff\xff\xff", "\r\n"}) {
        Ends ends;
        ends.say(from_text(text));
        ends.hear();
        CHECK(ends.heard.empty());
        ends.close_far();
        ends.hear();
        CHECK(ends.heard.empty());
        CHECK(ends.carrier().over());
    }
}

TEST_CASE("a peer that closes in the middle of a datagram ends the stream without it") {
    const Bytes whole = joined({framed(datagram(kLeast, 1)), extension(4), framed(datagram(40, 2))});
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        Ends ends;
        ends.say(std::span(whole).first(cut));
        ends.close_far();
        ends.hear();
        CHECK(ends.heard.size() == (cut >= 2 + kLeast ? 1 : 0));
        REQUIRE(ends.carrier().over());
        CHECK(ends.carrier().over()->empty());
        CHECK(ends.carrier().ended());
    }
}

TEST_CASE("a datagram that the handler refuses stays, with all that is behind it") {
    const std::vector<Bytes> sent{datagram(30, 1), datagram(31, 2), datagram(32, 3)};
    Ends ends;
    ends.say(joined({framed(sent[0]), framed(sent[1]), extension(2), framed(sent[2])}));
    int calls = 0;
    for (int again = 0; again < 3; ++again) {
        CHECK(ends.carrier().receive([&](std::span<std::byte> got) {
            ++calls;
            return got.size() == 30;
        }));
    }
    CHECK(calls == 4);  // the first one, and three times the second one
    ends.hear();
    CHECK(ends.heard == std::vector<Bytes>{sent[1], sent[2]});
}

TEST_CASE("what the stream does not take is queued in order, and reported as full and as free again") {
    Ends ends;
    io::StreamCarrier& carrier = ends.carrier();
    Ends other;  // understands what the first one has written
    std::vector<Bytes> sent;
    while (!carrier.full()) {
        sent.push_back(datagram(9000 + sent.size(), static_cast<unsigned>(sent.size())));
        carrier.send(sent.back(), sent.back().size());
        carrier.flush();
        REQUIRE(sent.size() < 10'000);
    }
    CHECK(carrier.queued() >= io::StreamCarrier::kFull);
    sent.push_back(datagram(kLeast, 7));
    carrier.send(sent.back(), kLeast);
    while (carrier.queued() > 0) {
        other.say(ends.read());
        other.hear();
        carrier.flush();
    }
    CHECK_FALSE(carrier.full());
    other.say(ends.read());
    other.hear();
    CHECK(other.heard == sent);
}

TEST_CASE("a batch becomes datagrams of its segment, the last one shorter") {
    Ends ends;
    Ends other;
    Bytes batch = joined({datagram(100, 1), datagram(100, 2), datagram(30, 3)});
    ends.carrier().send(batch, 100);
    ends.carrier().flush();
    other.say(ends.read());
    other.hear();
    CHECK(other.heard == std::vector<Bytes>{datagram(100, 1), datagram(100, 2), datagram(30, 3)});
}

TEST_CASE("a write to a peer that is gone ends the stream, and nothing is queued after it") {
    Ends ends;
    ends.close_far();
    const Bytes one = datagram(kLeast, 1);
    ends.carrier().send(one, kLeast);
    ends.carrier().flush();
    REQUIRE(ends.carrier().over());
    CHECK_FALSE(ends.carrier().over()->empty());
    const std::size_t queued = ends.carrier().queued();
    ends.carrier().send(one, kLeast);
    CHECK(ends.carrier().queued() == queued);
}
