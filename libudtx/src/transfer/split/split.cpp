#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "transfer/names.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::transfer {

namespace {

constexpr std::string_view kSplitHead = "udtx-plan 1 ";
constexpr std::string_view kSplitEnd = "end";

Error no_split(const char* why) { return {ErrorCode::invalid_argument, std::string("no plan of shards: ") + why}; }

/// The next line, without its end. nullopt: there is none, or it has no end.
std::optional<std::string_view> take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

}  // namespace

Result<Split> Split::create(std::vector<std::string> cuts) {
    if (cuts.size() >= kMaxShards) return no_split("more than 4096 shards");
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        if (auto checked = check_path(split_path(cuts[i])); !checked) return no_split("a path is none");
        if (join_path(split_path(cuts[i])) != cuts[i]) return no_split("a path is not in its shortest form");
        if (i > 0 && compare_paths(cuts[i - 1], cuts[i]) > 0) return no_split("the paths descend");
    }
    Split out;
    out.cuts_ = std::move(cuts);
    return out;
}

Result<Split> Split::parse(std::string_view text) {
    const auto head = take_line(text);
    if (!head || !head->starts_with(kSplitHead)) return no_split("its first line does not say so");
    const std::string_view number = head->substr(kSplitHead.size());
    std::size_t count = 0;
    std::from_chars(number.data(), number.data() + number.size(), count);
    if (number != std::to_string(count) || count == 0 || count > kMaxShards) {
        return no_split("its first line has no number of shards from 1 to 4096");
    }
    std::vector<std::string> cuts;
    while (cuts.size() + 1 < count) {
        const auto line = take_line(text);
        auto path = line ? unescape_field(*line) : std::nullopt;
        if (!path || escape_field(*path) != *line) return no_split("it is cut short, or a path in it was changed");
        cuts.push_back(std::move(*path));
    }
    const auto end = take_line(text);
    if (!end || *end != kSplitEnd || !text.empty()) return no_split("it is cut short, or something follows its end");
    return create(std::move(cuts));
}

std::string Split::to_text() const {
    std::string out = std::string(kSplitHead) + std::to_string(count()) + '\n';
    for (const std::string& cut : cuts_) out += escape_field(cut) + '\n';
    return out + std::string(kSplitEnd) + '\n';
}

PathRange Split::part(std::size_t index) const {
    return {index == 0 ? std::string() : cuts_[index - 1], index < cuts_.size() ? cuts_[index] : std::string()};
}

std::uint64_t Split::digest() const { return path_key(to_text()); }

std::uint64_t shard_number(std::string_view job, const Shard& shard, std::string_view destination) {
    // NUL is in no name: what is joined by it cannot be confused.
    const std::string all = std::string("shard") + '\0' + std::string(job) + '\0' + std::to_string(shard.index) + '/' +
                            std::to_string(shard.count) + '\0' + join_path(split_path(destination));
    return std::max<std::uint64_t>(path_key(all), 1);
}

}  // namespace udtx::transfer
