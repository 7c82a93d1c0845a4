// Receipts: what is accepted is within its bounds. The input is also read with the correct end line appended, because
// hardly any input has one.
#include <string>

#include "fuzz/require.hpp"
#include "transfer/names.hpp"
#include "transfer/receipt/receipt.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "only complete receipts with values within bounds are accepted"}};

using namespace udtx;
using namespace udtx::transfer;
using udtx::fuzz::require;

namespace {

void check(std::string_view text) {
    const auto receipt = parse_receipt(text);
    if (!receipt) return require(receipt.error().code == ErrorCode::integrity, "a bad receipt is told as such");
    for (const ReceiptEntry& entry : receipt->entries) {
        require(check_path(split_path(entry.path)).ok(), "paths are checked");
        std::uint64_t from = 0;
        for (const ProvenPiece& piece : entry.pieces) {
            require(piece.length > 0 && piece.offset >= from, "pieces ascend");
            require(piece.offset <= entry.size && piece.length <= entry.size - piece.offset, "pieces lie in the file");
            from = piece.offset + piece.length;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    check(input);
    std::string ended(input);
    ended += "\n";
    Hasher hasher(HashAlgorithm::xxh3_128);
    hasher.update(std::as_bytes(std::span(ended)));
    check(ended + "end\t" + hasher.finish().hex() + "\n");
    return 0;
}
