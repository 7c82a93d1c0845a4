// A packet's payload: whatever decodes must encode again, and decode to the same (FAULTS 1 to 3).
#include <vector>

#include "fuzz/require.hpp"
#include "unit/wire/frame_equality.hpp"
#include "wire/codec.hpp"

using namespace udtx;
using namespace udtx::wire;
using udtx::fuzz::require;

namespace {

void check_ack(const AckFrame& ack) {
    const auto ranges = ack.view();
    require(!ranges.empty() && ranges.size() <= kMaxAckRanges, "an ACK has 1 to 256 ranges");
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        require(ranges[i].first <= ranges[i].last, "an ACK range is not reversed");
        require(i == 0 || ranges[i].last + 2 <= ranges[i - 1].first, "ACK ranges descend with gaps");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static AckFrame scratch;
    static AckFrame scratch_again;
    const auto input = std::as_bytes(std::span(data, size));
    // Padding and the shortest varints never grow a frame.
    std::vector<std::byte> memory(size);
    Reader in(input);
    while (!in.empty()) {
        const std::size_t start = in.position();
        const auto frame = read_frame(in, scratch);
        if (!frame) break;
        require(in.position() > start, "a frame takes bytes");
        if (const auto* ack = std::get_if<AckFrameView>(&*frame)) check_ack(*ack->frame);

        Writer out(memory);
        require(write_frame(out, *frame), "what was decoded can be encoded");
        require(out.size() <= in.position() - start, "the encoding is not longer than the original");
        Reader again_in(out.written());
        const auto again = read_frame(again_in, scratch_again);
        require(again.ok() && again_in.empty(), "what was encoded can be decoded");
        require(same(*frame, *again), "decoding again gives the same frame");
    }
    return 0;
}
