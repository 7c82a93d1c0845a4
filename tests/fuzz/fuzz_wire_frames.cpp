// The payload of a packet: what decodes must encode again, and decode to the same.
#include <algorithm>
#include <vector>

#include "fuzz/require.hpp"
#include "unit/wire/frame_equality.hpp"
#include "wire/frame.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {2, "a decoded frame is the same after encoding and decoding it again"},
    {3, "the ranges of an ACK descend, do not overlap and stay above zero"}};

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

/// A stream frame may extend to the end of the packet and have no length; write_frame() always writes a length.
std::size_t longest(const Frame& frame, std::size_t original) {
    const auto* stream = std::get_if<StreamFrame>(&frame);
    return original + (stream != nullptr ? varint_bytes(stream->data.size()) : 0);
}

/// The packet builder gets the stream bytes itself, and omits the length if the packet is full.
void check_stream(const StreamFrame& frame, AckFrame& scratch) {
    if (frame.data.empty() && !frame.fin) return;
    const std::size_t header = 1 + varint_bytes(frame.id.value) + varint_bytes(frame.offset);
    for (const std::size_t more : {0U, 1U, 20U}) {
        std::vector<std::byte> memory(header + frame.data.size() + more);
        Writer out(memory);
        const auto room = write_stream_header(out, frame.id, frame.offset, frame.data.size(), frame.fin);
        require(room.written == !room.payload.empty() || frame.data.empty(), "a frame that is written has bytes");
        if (!room.written) continue;
        require(more == 1 || room.payload.size() == frame.data.size(), "what has room is written whole");
        std::copy_n(frame.data.begin(), room.payload.size(), room.payload.begin());
        StreamFrame expected = frame;
        expected.data = frame.data.first(room.payload.size());
        expected.fin = room.fin;
        Reader in(out.written());
        const auto again = read_frame(in, scratch);
        require(again.ok() && in.empty() && same(Frame(expected), *again), "a written stream frame reads as the same");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static AckFrame scratch;
    static AckFrame scratch_again;
    const auto input = std::as_bytes(std::span(data, size));
    // Padding and the shortest varints never make a frame longer.
    std::vector<std::byte> memory(size + sizeof(std::uint64_t));
    Reader in(input);
    while (!in.empty()) {
        const std::size_t start = in.position();
        const auto frame = read_frame(in, scratch);
        if (!frame) break;
        require(in.position() > start, "a frame takes bytes");
        if (const auto* ack = std::get_if<AckFrameView>(&*frame)) check_ack(*ack->frame);

        Writer out(memory);
        require(write_frame(out, *frame), "what was decoded can be encoded");
        require(out.size() <= longest(*frame, in.position() - start), "the encoding is not longer than the original");
        Reader again_in(out.written());
        const auto again = read_frame(again_in, scratch_again);
        require(again.ok() && again_in.empty(), "what was encoded can be decoded");
        require(same(*frame, *again), "decoding again gives the same frame");
        if (const auto* stream = std::get_if<StreamFrame>(&*frame)) check_stream(*stream, scratch_again);
    }
    return 0;
}
