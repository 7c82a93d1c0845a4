#include <algorithm>
#include <cmath>
#include <utility>

#include "transfer/job_report.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::transfer {

namespace {

struct CostedPath {
    std::string path;
    EntryType type = EntryType::file;
    std::uint64_t length = 0;  ///< bytes, including holes
    std::uint64_t data = 0;    ///< bytes
    std::uint64_t size = 0;    ///< of a file that may be cut; else 0
    std::uint64_t file_cost = 0;
    [[nodiscard]] std::uint64_t cost() const noexcept { return data + file_cost; }
};

// A cut costs a file more than it gains if it moves less than this from one shard to another.
constexpr std::uint64_t kLeastMoved = kCutBytes / 2;

/// All entries that would be sent, in the order of their paths.
Result<std::vector<CostedPath>> walk_costs(const Selection& what, SplitPlan& out) {
    const auto roots = open_sources(what.sources);
    if (!roots) return roots.error();
    Selection counted = what;
    counted.preserve = false;  // nothing looks at the modes of files
    ScanQueue queue(kMaxScanQueueBytes);
    JobReport report;
    Scanner scanner(*roots, queue, report, counted);
    std::vector<CostedPath> found;
    while (!queue.over()) {
        static_cast<void>(scanner.step());
        while (auto entry = queue.try_pop()) {
            const bool file = entry->type == EntryType::file;
            if (file) ++out.files;
            add_up(out.bytes, entry->data_bytes);
            // Each of a file's names would need the same cuts.
            const bool may_be_cut = file && entry->size > kCutBytes && !entry->linked;
            found.push_back({std::move(entry->path), entry->type, entry->bytes(), entry->data_bytes,
                             may_be_cut ? entry->size : 0, file ? kShardFileCost : 0});
        }
    }
    Outcome outcome = report.outcome();
    out.failed = std::move(outcome.failed);
    out.failed_count = outcome.failed_count;
    out.warnings = std::move(outcome.warnings);
    std::ranges::sort(found, [](const auto& a, const auto& b) { return compare_paths(a.path, b.path) < 0; });
    return found;
}

/// Cuts the list in the order of the paths, so that each shard gets its share of the rest.
class EvenCuts {
  public:
    explicit EvenCuts(std::vector<std::uint64_t>& shard_costs) : costs_(shard_costs) {}

    [[nodiscard]] std::vector<Cut> cut(const std::vector<CostedPath>& found) {
        for (const CostedPath& entry : found) left_ += entry.cost();
        for (const CostedPath& entry : found) {
            if (entry.size > 0) {
                add_in_parts(entry);
            } else {
                // The entry belongs to the shard whose share holds its middle.
                if (filled_ > 0 && filled_ + entry.cost() / 2 >= share()) next_shard({entry.path, 0});
                fill(entry.cost());
            }
        }
        return std::move(cuts_);
    }

  private:
    /// The rest is divided again at each cut. An entry that cannot be cut thus does not empty all later shares.
    [[nodiscard]] std::uint64_t share() const { return left_ / (costs_.size() - cuts_.size()); }

    void add_in_parts(const CostedPath& entry) {
        if (filled_ > 0 && filled_ + kLeastMoved >= share()) next_shard({entry.path, 0});
        const double density = static_cast<double>(entry.data) / static_cast<double>(entry.size);
        const auto data_of = [&](std::uint64_t bytes) {
            return static_cast<std::uint64_t>(static_cast<double>(bytes) * density);
        };
        fill(entry.file_cost);
        for (std::uint64_t at = 0; at < entry.size;) {
            std::uint64_t bytes = entry.size - at;
            if (cuts_.size() + 1 < costs_.size() && filled_ + data_of(bytes) > share() + kLeastMoved) {
                const double room = share() > filled_ ? static_cast<double>(share() - filled_) / density : 0;
                const auto blocks = static_cast<std::uint64_t>(std::llround(room / static_cast<double>(kCutBytes)));
                bytes = std::min(bytes, std::max<std::uint64_t>(blocks, 1) * kCutBytes);
            }
            fill(std::min(data_of(bytes), left_));
            at += bytes;
            if (at < entry.size) next_shard({entry.path, at});
        }
    }

    void fill(std::uint64_t cost) {
        filled_ += cost;
        costs_[cuts_.size()] += cost;
    }
    void next_shard(Cut at) {
        if (cuts_.size() + 1 == costs_.size()) return;
        cuts_.push_back(std::move(at));
        left_ -= std::min(left_, filled_);
        filled_ = 0;
    }

    std::vector<std::uint64_t>& costs_;
    std::vector<Cut> cuts_;
    std::uint64_t left_ = 0;    // cost of the present and all later shards
    std::uint64_t filled_ = 0;  // of the present one, so far
};

/// Counts the content of each shard. `found` is in the order of the paths.
std::vector<ShardContent> contents_of(const Selection& what, const std::vector<CostedPath>& found, const Split& split,
                                      const std::vector<Cut>& cuts) {
    std::vector<ShardContent> out(split.count());
    std::size_t first = 0;  // the shard that has the start of the entry
    for (const CostedPath& entry : found) {
        const auto is_after = [&](const Cut& cut) {
            const auto order = compare_paths(entry.path, cut.path);
            return order > 0 || (order == 0 && cut.offset == 0);
        };
        while (first < cuts.size() && is_after(cuts[first])) ++first;
        for (std::size_t shard = first; shard < out.size(); ++shard) {
            // Later shards have only the rest of a file that is cut.
            if (shard > first && (cuts[shard - 1].path != entry.path || cuts[shard - 1].offset == 0)) break;
            const PathRange part = split.part(shard);
            const auto bytes = part.bytes_of(entry.path, entry.length);
            if (bytes && counts(what, part, entry.type, entry.path)) count_in(out[shard], entry.path, bytes->length);
        }
    }
    return out;
}

}  // namespace

Result<SplitPlan> make_split(const Selection& what, std::size_t shards) {
    if (shards == 0 || shards > kMaxShards) {
        return Error{ErrorCode::invalid_argument, "a job has 1 to 4096 shards, not " + std::to_string(shards)};
    }
    SplitPlan out;
    auto found = walk_costs(what, out);
    if (!found) return found.error();
    out.shard_costs.resize(shards);
    std::vector<Cut> cuts = EvenCuts(out.shard_costs).cut(*found);
    // If there are fewer files than shards, the first shards get nothing: their cuts precede all entries.
    const std::size_t idle = shards - 1 - cuts.size();
    cuts.insert(cuts.begin(), idle, Cut{found->empty() ? "0" : found->front().path, 0});
    std::rotate(out.shard_costs.begin(), out.shard_costs.end() - static_cast<std::ptrdiff_t>(idle),
                out.shard_costs.end());
    auto split = Split::create(cuts);
    if (!split) return split.error();
    auto contents = contents_of(what, *found, *split, cuts);
    split = Split::create(std::move(cuts), std::move(contents), selection_number(what));
    if (!split) return split.error();
    out.split = std::move(*split);
    return out;
}

}  // namespace udtx::transfer
