// Compares a stream's receiving half with a naive model, a plain array of the received bytes. Both kinds of stream are
// tested, with reads, releases and stops by the application in between.
//
// Input: the kind of stream, then operations of four bytes: kind, offset (two bytes), length.
#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <vector>

#include "fuzz/require.hpp"
#include "stream/recv_stream.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {8, "each byte is correct and is delivered once and in order"}};

using namespace udtx;
using namespace udtx::stream;
using udtx::fuzz::require;

namespace {

constexpr std::uint64_t kSpan = 4U * 65536;  // covers several blocks of the buffer
constexpr std::uint64_t kWindow = 3U * 65536;

std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>((offset * 167U + (offset >> 8U)) & 0xffU); }

class Model {
  public:
    explicit Model(StreamKind kind) : ordered_(kind == StreamKind::ordered), stream_(kind, kWindow), limit_(kWindow) {}

    void data(std::uint64_t offset, std::size_t length, bool fin) {
        std::vector<std::byte> bytes(length);
        for (std::size_t i = 0; i < length; ++i) bytes[i] = byte_at(offset + i);
        const std::uint64_t end = offset + length;
        const bool allowed = end <= limit_ && (!final_ || end <= *final_) && (!fin || !final_ || end == *final_) &&
                             (!fin || end >= highest_);
        const auto grown = stream_.on_data(offset, bytes, fin, [&](std::uint64_t at, std::span<const std::byte> piece) {
            require(!ordered_ && !stopped_, "only unordered streams that are wanted hand over");
            place(at, piece);
        });
        require(grown.ok() == allowed, "what is within credit and final size is taken, and nothing else");
        if (!grown) {
            over_ = true;
            return;
        }
        require(*grown == std::max(end, highest_) - highest_, "the highest offset grows by what is said");
        highest_ = std::max(end, highest_);
        if (fin) final_ = end;
        for (std::uint64_t at = offset; at < end; ++at) came_[at] = true;
        compare();
    }

    void read(std::size_t length) {
        if (!ordered_) return;
        std::vector<std::byte> out(length);
        const std::size_t n = stream_.read(out);
        std::size_t expected = 0;
        while (!stopped_ && expected < length && read_ + expected < came_.size() && came_[read_ + expected]) ++expected;
        require(n == expected, "all that follows is read, and no more");
        for (std::size_t i = 0; i < n; ++i) require(out[i] == byte_at(read_ + i), "the right bytes are read");
        read_ += n;
        compare();
    }

    void release(std::size_t length) {
        if (ordered_ || stopped_) return;
        const std::uint64_t bytes = std::min<std::uint64_t>(length, handed_.count() - released_);
        released_ += bytes;
        stream_.release(bytes);
    }

    void advertise() {
        const std::uint64_t limit = stream_.advertise();
        require(limit >= limit_, "credit is never taken back");
        require(limit <= stream_.consumed() + kWindow, "credit is a window beyond what was consumed");
        limit_ = limit;
    }

    void stop() {
        stream_.stop();
        stopped_ = true;
    }

    [[nodiscard]] bool over() const { return over_; }

  private:
    void place(std::uint64_t at, std::span<const std::byte> piece) {
        for (std::size_t i = 0; i < piece.size(); ++i) {
            require(piece[i] == byte_at(at + i), "the right bytes are handed over");
            require(!handed_[at + i], "each byte is handed over once");
            handed_[at + i] = true;
        }
    }

    void compare() {
        if (stopped_) return;
        if (!ordered_) require(handed_ == came_, "all that came was handed over");
        require(stream_.held() <= kWindow + 3U * 65536, "memory is bounded by the window");
        require(stream_.received() == came_.count(), "bytes are counted once");
        require(stream_.complete() == (final_ && came_.count() == *final_), "complete with the last byte");
    }

    bool ordered_;
    RecvStream stream_;
    std::uint64_t limit_;
    std::bitset<kSpan + 65536> came_;
    std::bitset<kSpan + 65536> handed_;
    std::optional<std::uint64_t> final_;
    std::uint64_t highest_ = 0;
    std::uint64_t read_ = 0;
    std::uint64_t released_ = 0;
    bool stopped_ = false;
    bool over_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    Model model(data[0] % 2 == 0 ? StreamKind::ordered : StreamKind::unordered);
    int operations = 0;
    for (std::size_t i = 1; i + 4 <= size && operations < 200 && !model.over(); i += 4, ++operations) {
        const std::uint64_t where = (data[i + 1] | static_cast<std::uint64_t>(data[i + 2]) << 8U) * 4U;
        const std::size_t length = data[i + 3] < 128 ? data[i + 3] : (data[i + 3] - 127U) * 61U;
        switch (data[i] % 8) {
            case 0:
            case 1:
            case 2:
            case 3:
                model.data(where % kSpan, length, data[i] >= 0xf0);
                break;
            case 4:
            case 5:
                model.read(length * 16);
                break;
            case 6:
                model.advertise();
                break;
            default:
                if (data[i] >= 0xf0) {
                    model.stop();
                } else {
                    model.release(length * 16);
                }
        }
    }
    return 0;
}
