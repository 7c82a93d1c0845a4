#include <algorithm>
#include <utility>

#include "transfer/job_report.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::transfer {

namespace {

struct CostedPath {
    std::string path;
    std::uint64_t cost = 0;
};

/// All that would be sent, in order.
Result<std::vector<CostedPath>> walk_costs(const Selection& what, SplitPlan& out) {
    std::vector<std::string> sources = what.sources;
    for (std::string& source : sources) {
        if (source.ends_with('/')) source += '.';
    }
    const auto roots = open_sources(sources);
    if (!roots) return roots.error();
    ScanOptions options;
    static_cast<Selection&>(options) = what;
    ScanQueue queue(kMaxScanQueueBytes);
    JobReport report;
    Scanner scanner(*roots, queue, report, std::move(options));
    std::vector<CostedPath> found;
    while (!queue.over()) {
        static_cast<void>(scanner.step());
        while (auto entry = queue.try_pop()) {
            const bool file = entry->type == EntryType::file;
            if (file) ++out.files;
            out.bytes += entry->data_bytes;
            found.push_back({std::move(entry->path), entry->data_bytes + (file ? kShardFileCost : 0)});
        }
    }
    Outcome outcome = report.outcome();
    out.failed = std::move(outcome.failed);
    out.failed_count = outcome.failed_count;
    out.warnings = std::move(outcome.warnings);
    std::ranges::sort(found, [](const auto& a, const auto& b) { return compare_paths(a.path, b.path) < 0; });
    return found;
}

/// The first path of each shard but the first. A path goes to the shard in whose share its middle lies.
std::vector<std::string> cut_evenly(const std::vector<CostedPath>& found, std::vector<std::uint64_t>& shard_costs) {
    const std::size_t shards = shard_costs.size();
    std::uint64_t left = 0;
    for (const CostedPath& entry : found) left += entry.cost;
    std::vector<std::string> cuts;
    std::uint64_t filled = 0;
    for (const CostedPath& entry : found) {
        // What is left is shared anew at each cut: one large file does not empty all the shares after it.
        const std::uint64_t share = left / (shards - cuts.size());
        const bool over = filled > 0 && filled + entry.cost / 2 >= share;
        if (over && cuts.size() + 1 < shards) {
            cuts.push_back(entry.path);
            left -= filled;
            filled = 0;
        }
        filled += entry.cost;
        shard_costs[cuts.size()] += entry.cost;
    }
    return cuts;
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
    std::vector<std::string> cuts = cut_evenly(*found, out.shard_costs);
    // Fewer files than shards: the first ones have nothing, before all there is.
    const std::size_t idle = shards - 1 - cuts.size();
    cuts.insert(cuts.begin(), idle, found->empty() ? "0" : found->front().path);
    std::ranges::rotate(out.shard_costs, out.shard_costs.end() - static_cast<std::ptrdiff_t>(idle));
    auto split = Split::create(std::move(cuts));
    if (!split) return split.error();
    out.split = std::move(*split);
    return out;
}

}  // namespace udtx::transfer
