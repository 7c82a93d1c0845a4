// Divides one tree among several transfers, the shards of a job. They may run in other processes and on other hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// Cost of a file in addition to its bytes of data, used to make equal shards; in bytes.
inline constexpr std::uint64_t kShardFileCost = 64U << 10U;

/// Identifies one shard of a job.
struct Shard {
    std::size_t index = 0;  ///< index of the shard, from 0
    std::size_t count = 1;  ///< number of shards, at most kMaxShards
};

/// The start of a part of a tree.
struct Cut {
    std::string path{};  ///< first path of the part
    /// Offset in a file of that name, in bytes; the bytes before belong to the previous part.
    std::uint64_t offset = 0;
};

/// The cuts of a tree. The parts neither overlap nor leave gaps, even if the tree has changed since. A split assigns
/// every possible name to one shard, including new names.
class UDTX_EXPORT Split {
  public:
    Split() = default;  ///< One shard.
    /// Makes a split from the start of each shard except the first. A shard that starts where the next one does sends
    /// nothing. invalid_argument: there are too many cuts, or one is smaller than the cut before it (compare_paths()).
    /// A path that is not valid, or an offset that is not a multiple of kCutBytes, is also an invalid_argument.
    /// `contents`: of each shard, or empty if unknown. `selection`: selection_number() of what was counted.
    static Result<Split> create(std::vector<Cut> cuts, std::vector<ShardContent> contents = {},
                                std::uint64_t selection = 0);
    /// Reads the text of to_text(). invalid_argument: the text is not a split, or is truncated.
    static Result<Split> parse(std::string_view text);
    /// Returns the text of a plan file. All shards get this file. Each of its lines ends with a newline:
    ///
    ///     udtx-plan 2 COUNT     COUNT shards, 1 to kMaxShards, in decimal
    ///     PATH                  the cut before a path
    ///     PATH<tab>OFFSET       the cut within a file, at a multiple of kCutBytes; not 0
    ///     selection NUMBER      selection(), if the contents are known
    ///     content ENTRIES BYTES NAMES     content() of each shard, if known
    ///     end
    ///
    /// There are COUNT - 1 cuts in ascending order (compare_paths()). If two are equal, the shard between them sends
    /// nothing. A path is relative to the destination and in its shortest form. Its tabs, newlines, carriage returns
    /// and backslashes are written as in C. No other spelling of a line is accepted, so equal splits have equal texts.
    [[nodiscard]] std::string to_text() const;

    /// Number of shards.
    [[nodiscard]] std::size_t count() const noexcept { return cuts_.size() + 1; }
    /// The part that a shard sends. `index` must be below count().
    [[nodiscard]] PathRange part(std::size_t index) const;
    /// The content of a shard, if known. `index` must be below count().
    [[nodiscard]] std::optional<ShardContent> content(std::size_t index) const;
    /// selection_number() of the entries that content() counts.
    [[nodiscard]] std::uint64_t selection() const noexcept { return selection_; }
    /// A hash of the split. All processes with the same split get the same value.
    [[nodiscard]] std::uint64_t digest() const;

  private:
    std::vector<Cut> cuts_;
    std::vector<ShardContent> contents_;  // of each shard, or none
    std::uint64_t selection_ = 0;
};

/// The result of make_split().
struct SplitPlan {
    Split split{};                             ///< the cuts
    std::vector<std::uint64_t> shard_costs{};  ///< cost of each shard: bytes of data, and kShardFileCost for each file
    std::uint64_t files = 0;                   ///< number of all files
    std::uint64_t bytes = 0;                   ///< bytes of data of all files
    std::vector<FailedFile> failed{};          ///< the first entries that could not be read; their sizes are unknown
    std::uint64_t failed_count = 0;            ///< number of all entries that could not be read
    std::vector<std::string> warnings{};       ///< see Outcome::warnings
};

/// Walks the sources, and cuts the selected files into `shards` parts of equal cost. The cost is the bytes of data,
/// plus kShardFileCost for each file. Files larger than kCutBytes may be cut, except files with several names. Blocks.
/// Needs memory for the path of each file and about 100 bytes more. invalid_argument or file_io: `shards` is 0 or above
/// kMaxShards, or a source is missing.
[[nodiscard]] UDTX_EXPORT Result<SplitPlan> make_split(const Selection& what, std::size_t shards);

/// Returns the transfer number of a shard. Two runs share it if job, shard and destination are the same. The host and
/// the directory of the sources have no influence. It is never 0.
[[nodiscard]] UDTX_EXPORT std::uint64_t shard_number(std::string_view job, const Shard& shard,
                                                     std::string_view destination);

/// Returns a hash of what decides which entries of the sources are sent: filters, links and names. It is never 0.
[[nodiscard]] UDTX_EXPORT std::uint64_t selection_number(const Selection& what);

/// Returns the number of the job. All its shards share it.
[[nodiscard]] UDTX_EXPORT std::uint64_t job_number(std::string_view job, std::size_t count,
                                                   std::string_view destination);

}  // namespace udtx::transfer
