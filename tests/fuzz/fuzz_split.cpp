// The plan of a job's shards, which a user can edit: an accepted plan cuts a tree without overlaps and gaps.
#include <string>

#include "fuzz/require.hpp"
#include "udtx/transfer/shard.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{{7, "an accepted plan puts each path into one shard"}};

using namespace udtx;
using namespace udtx::transfer;
using udtx::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto split = Split::parse(text);
    if (!split) {
        require(split.error().code == ErrorCode::invalid_argument, "a bad plan is told as such");
        return 0;
    }
    require(split->count() >= 1 && split->count() <= kMaxShards, "a number of shards");
    require(split->to_text() == text, "it is written as it was read");
    // Test paths at, next to and below each cut.
    for (std::size_t i = 0; i < split->count() && i < 64; ++i) {
        for (const char* end : {"", "/x", "x"}) {
            const std::string path = split->part(i).from.empty() ? "x" : split->part(i).from + end;
            std::size_t holders = 0;
            for (std::size_t k = 0; k < split->count(); ++k) {
                const PathRange part = split->part(k);
                if (!part.contains(path)) continue;
                ++holders;
                require(part.meets(path) && part.meets(""), "what is in a part meets it, and so does all above");
                const std::string above = path.substr(0, path.find('/') == std::string::npos ? 0 : path.rfind('/'));
                require(part.meets(above), "and its directory");
            }
            require(holders == 1, "each path has one shard");
            // Each byte of a file of any size belongs to exactly one shard, too.
            for (const std::uint64_t bytes :
                 {std::uint64_t{0}, kCutBytes, 5 * kCutBytes + 1, split->part(i).from_offset}) {
                std::uint64_t covered = 0;
                for (std::size_t k = 0; k < split->count(); ++k) {
                    const auto range = split->part(k).bytes_of(path, bytes);
                    if (!range) continue;
                    require(range->offset == covered, "the parts of a file have no gap and no overlap");
                    covered += range->length;
                }
                require(covered == bytes, "and are all of it");
            }
        }
    }
    return 0;
}
