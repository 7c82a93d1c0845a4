// Datagrams on a byte stream, as a stranger may send them after the TLS of the TCP port: they are those that a simple
// reader finds, wherever the stream is cut and whichever the receiver leaves for later.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/require.hpp"
#include "io/stream_carrier.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {4, "bytes before any authentication: datagrams on a byte stream"}};

using namespace udtx;
using udtx::fuzz::require;

namespace {

using Bytes = std::vector<std::byte>;

/// Gives `bytes` in pieces, and then its end. Takes what is written in pieces, too.
class Pieces final : public os::ByteStream {
  public:
    Pieces(std::span<const std::byte> bytes, std::size_t step, Bytes* written = nullptr)
        : bytes_(bytes), step_(step), written_(written) {}
    Moved read(std::span<std::byte> out) override {
        if (std::exchange(pause_, !pause_)) return {};  // it would block, every other time
        if (bytes_.empty()) return {.bytes = 0, .over = std::string()};
        require(!out.empty(), "there is room for more");
        const auto piece = bytes_.first(std::min({step_, bytes_.size(), out.size()}));
        std::ranges::copy(piece, out.begin());
        bytes_ = bytes_.subspan(piece.size());
        return {.bytes = piece.size()};
    }
    Moved write(std::span<const std::byte> bytes) override {
        if (std::exchange(pause_, !pause_)) return {};
        const auto piece = bytes.first(std::min(step_, bytes.size()));
        written_->insert(written_->end(), piece.begin(), piece.end());
        return {.bytes = piece.size()};
    }
    void watch(bool /*to_write*/, std::vector<os::Watch>& /*watches*/) const override {}

  private:
    std::span<const std::byte> bytes_;
    std::size_t step_;
    Bytes* written_;
    bool pause_ = false;
};

struct Found {
    std::vector<Bytes> datagrams;
    bool wrong = false;  ///< the stream ended with something else than datagrams
    friend bool operator==(const Found&, const Found&) = default;
};

/// Section 7 of wire-format.md, as simple as possible.
Found find(std::span<const std::byte> rest) {
    const auto number = [&](std::size_t at) {
        return std::to_integer<std::size_t>(rest[at]) << 8U | std::to_integer<std::size_t>(rest[at + 1]);
    };
    Found found;
    while (rest.size() >= 2) {
        const bool extension = number(0) == 0;
        const std::size_t head = extension ? 4 : 2;
        if (rest.size() < head) break;
        const std::size_t size = number(head - 2);
        found.wrong = size > 65'000 || (!extension && size < 25);
        if (found.wrong || rest.size() < head + size) break;
        const auto body = rest.subspan(head, size);
        if (!extension) found.datagrams.emplace_back(body.begin(), body.end());
        rest = rest.subspan(head + size);
    }
    return found;
}

/// Reads the stream in pieces of `step` bytes after the `before` first ones. Every `refuse`th datagram is refused once.
Found receive(std::span<const std::byte> bytes, std::size_t step, std::size_t before, std::size_t refuse) {
    io::StreamCarrier carrier(std::make_unique<Pieces>(bytes.subspan(before), step), {}, {}, bytes.first(before));
    Found found;
    std::size_t calls = 0;
    const auto take = [&](std::span<std::byte> datagram) {
        if (refuse > 0 && ++calls % refuse == 0) return false;
        found.datagrams.emplace_back(datagram.begin(), datagram.end());
        std::ranges::fill(datagram, std::byte{0xff});  // it is decrypted in place
        return true;
    };
    for (std::size_t turn = 0; !carrier.over(); ++turn) {
        require(turn <= 2 * (bytes.size() + 4), "a stream comes to its end");
        carrier.receive(take);
    }
    found.wrong = !carrier.over()->empty();
    const Found before_more = found;
    require(!carrier.receive(take) && found == before_more, "nothing comes after the end");
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const Found expected = find(bytes);
    const std::size_t some = size == 0 ? 1 : 1 + data[size - 1];
    require(receive(bytes, std::max<std::size_t>(size, 1), 0, 0) == expected, "datagrams are found");
    require(receive(bytes, some, 0, 0) == expected, "pieces do not matter");
    require(receive(bytes, 1, size / 2, 2) == expected, "nor what was read before, nor refusals");

    // What arrived can be sent again and arrives the same.
    Bytes written;
    io::StreamCarrier carrier(std::make_unique<Pieces>(std::span<const std::byte>(), some, &written), {}, {});
    for (const Bytes& one : expected.datagrams) carrier.send(one, one.size());
    for (std::size_t turn = 0; carrier.queued() > 0; ++turn) {
        require(turn <= 2 * size + 2, "what is queued leaves");
        carrier.flush();
    }
    require(find(written) == Found{expected.datagrams, false}, "datagrams are written as they are read");
    return 0;
}
