// One tree in several transfers, each of which takes a part of it: by other processes, from other hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/path_range.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// What a file costs besides its bytes of data when shares are made equal, in bytes.
inline constexpr std::uint64_t kShardFileCost = 64U << 10U;

/// One of the transfers.
struct Shard {
    std::size_t index = 0;  ///< from 0
    std::size_t count = 1;  ///< of all shards, at most kMaxShards
};

/// Where a part of a tree begins.
struct Cut {
    std::string path{};        ///< the first of it
    std::uint64_t offset = 0;  ///< of a file of that name, in bytes: what comes before is in the part before
};

/// Where a tree is cut. The parts are without overlap and gap whatever the tree has become since: a split decides who
/// sends a name, and a name that is new belongs to one shard as well.
class UDTX_EXPORT Split {
  public:
    Split() = default;  ///< One shard.
    /// Where all shards but the first begin. A shard that begins where the next one does has nothing to send.
    /// invalid_argument: they descend (compare_paths()), one is no path, an offset is no multiple of kCutBytes, or
    /// there are too many.
    static Result<Split> create(std::vector<Cut> cuts);
    /// The other direction of to_text(). invalid_argument: the text is no split, or is cut short.
    static Result<Split> parse(std::string_view text);
    /// A plan file, which all shards get. Each of its lines ends with a newline:
    ///
    ///     udtx-plan 1 COUNT     COUNT shards, 1 to kMaxShards, in decimal
    ///     PATH                  the cut before a path
    ///     PATH<tab>OFFSET       the cut within a file, at a multiple of kCutBytes; not 0
    ///     end
    ///
    /// There are COUNT - 1 cuts. They do not descend (compare_paths()); of two equal ones the shard between has nothing
    /// to send. A path starts at the destination and is in its shortest form. In it, tab, newline, return and backslash
    /// are written as in C. No other spelling of a line is accepted, so that equal splits have equal texts.
    [[nodiscard]] std::string to_text() const;

    /// How many shards there are.
    [[nodiscard]] std::size_t count() const noexcept { return cuts_.size() + 1; }
    /// What a shard sends. `index` is below count().
    [[nodiscard]] PathRange part(std::size_t index) const;
    /// The same for all processes that have the same split.
    [[nodiscard]] std::uint64_t digest() const;

  private:
    std::vector<Cut> cuts_;
};

/// What make_split() has found.
struct SplitPlan {
    Split split{};                             ///< where to cut
    std::vector<std::uint64_t> shard_costs{};  ///< of each shard: bytes of data, and kShardFileCost for each file
    std::uint64_t files = 0;                   ///< in all
    std::uint64_t bytes = 0;                   ///< of data, in all
    std::vector<FailedFile> failed{};          ///< the first that could not be read: their sizes are not known
    std::uint64_t failed_count = 0;            ///< all of these
    std::vector<std::string> warnings{};       ///< as Outcome::warnings
};

/// Walks the sources and cuts what would be sent into `shards` parts of equal cost: bytes of data, and kShardFileCost
/// for each file. Files of more than kCutBytes may be cut, but for those that have several names. Blocks, and takes
/// about 100 bytes of memory and its path for each file. invalid_argument or file_io: `shards` is 0 or above
/// kMaxShards, or a source is missing.
[[nodiscard]] UDTX_EXPORT Result<SplitPlan> make_split(const Selection& what, std::size_t shards);

/// The transfer number of a shard: two runs share it if job, shard and destination are the same, whatever the host and
/// the directory of the sources. Never 0.
[[nodiscard]] UDTX_EXPORT std::uint64_t shard_number(std::string_view job, const Shard& shard,
                                                     std::string_view destination);

/// The number of the job: the same for all of its shards.
[[nodiscard]] UDTX_EXPORT std::uint64_t job_number(std::string_view job, std::size_t count,
                                                   std::string_view destination);

}  // namespace udtx::transfer
