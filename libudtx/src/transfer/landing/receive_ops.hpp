// The operations that the protocol thread requests from the receiver's writer thread, in order.
#pragma once

#include <cstdint>
#include <variant>

#include "transfer/bounded_queue.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/pieces/piece_assembler.hpp"

namespace udtx::transfer {

namespace op {
struct BeginEntry {
    message::Entry entry;
};
struct WritePiece {
    WholePiece piece;
};
struct CheckDigests {
    message::Digests digests;
};
struct Query {
    message::Query query;
};
struct Meta {
    message::Meta meta;
};
struct Rules {
    message::Rules rules;
};
struct Unsent {
    message::Unsent unsent;
};
struct KeepPieces {
    std::uint64_t index = 0;
    Extent extent;
    std::uint64_t first_ordinal = 0;
};
struct Hole {
    std::uint64_t index = 0;
    Extent extent;
};
struct EndFile {
    message::FileEnd end;
    std::uint64_t pieces = 0;
};
struct StreamBytes {
    Chunk data;
};
struct Finish {
    message::Finish finish;
};
}  // namespace op

using ReceiveOp = std::variant<op::BeginEntry, op::WritePiece, op::CheckDigests, op::Query, op::Meta, op::Rules,
                               op::Unsent, op::KeepPieces, op::Hole, op::EndFile, op::StreamBytes, op::Finish>;
using ReceiveQueue = BoundedQueue<ReceiveOp>;

}  // namespace udtx::transfer
