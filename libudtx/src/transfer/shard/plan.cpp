#include "udtx/transfer/selection.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "transfer/names.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::transfer {

std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept {
    // A slash ranks below all other bytes. NUL would be lower, but no name contains it.
    const auto rank = [](char c) { return c == '/' ? 0U : static_cast<unsigned>(static_cast<unsigned char>(c)); };
    const std::size_t n = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < n; ++i) {
        if (a[i] != b[i]) return rank(a[i]) <=> rank(b[i]);
    }
    return a.size() <=> b.size();
}

namespace {

/// Compares two places in a tree, each a path and an offset.
bool is_before(std::string_view path, std::uint64_t offset, std::string_view other, std::uint64_t other_offset) {
    const auto order = compare_paths(path, other);
    return order < 0 || (order == 0 && offset < other_offset);
}

constexpr std::string_view kSplitHead = "udtx-plan 2 ";
constexpr std::string_view kSplitEnd = "end";
constexpr std::string_view kSelection = "selection ";
constexpr std::string_view kContent = "content ";

Error no_split(const char* why) { return {ErrorCode::invalid_argument, std::string("not a plan of shards: ") + why}; }

/// The next line, without its newline. nullopt: the text is empty, or the line has no newline.
std::optional<std::string_view> take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

bool descends(const Cut& a, const Cut& b) {
    const auto order = compare_paths(a.path, b.path);
    return order > 0 || (order == 0 && a.offset > b.offset);
}

/// A line: the path, and the offset if there is one.
std::string line_of(const Cut& cut) {
    return escape_field(cut.path) + (cut.offset > 0 ? '\t' + std::to_string(cut.offset) : "");
}

std::optional<Cut> parse_cut(std::string_view line) {
    Cut cut;
    const std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos) {
        const std::string_view number = line.substr(tab + 1);
        std::from_chars(number.data(), number.data() + number.size(), cut.offset);
    }
    auto path = unescape_field(line.substr(0, tab));
    if (!path) return std::nullopt;
    cut.path = std::move(*path);
    return line_of(cut) == line ? std::optional(std::move(cut)) : std::nullopt;
}

/// The decimal numbers after `word`, separated by spaces. nullopt: there are not `count`, or they are spelt otherwise.
std::optional<std::vector<std::uint64_t>> numbers_after(std::string_view word, std::string_view line,
                                                        std::size_t count) {
    if (!line.starts_with(word)) return std::nullopt;
    std::vector<std::uint64_t> out(count);
    std::string again(word);
    const char* at = line.data() + word.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) again += ' ';
        if (i > 0 && at < line.data() + line.size()) ++at;
        at = std::from_chars(at, line.data() + line.size(), out[i]).ptr;
        again += std::to_string(out[i]);
    }
    return again == line ? std::optional(std::move(out)) : std::nullopt;
}

/// No name contains NUL, so parts joined by it cannot be confused.
std::uint64_t number_of_all(std::initializer_list<std::string_view> parts) {
    std::string all;
    for (const std::string_view part : parts) all.append(part).push_back('\0');
    return std::max<std::uint64_t>(path_key(all), 1);
}

}  // namespace

bool PathRange::contains(std::string_view path) const noexcept {
    return (from.empty() || !is_before(path, 0, from, from_offset)) &&
           (to.empty() || is_before(path, 0, to, to_offset));
}

std::optional<FileRange> PathRange::bytes_of(std::string_view path, std::uint64_t size) const noexcept {
    const std::uint64_t begin = from_offset > 0 && path == from ? from_offset : 0;
    const std::uint64_t end = to_offset > 0 && path == to ? std::min(to_offset, size) : size;
    if (begin == 0) return contains(path) ? std::optional(FileRange{0, end}) : std::nullopt;
    if (begin >= end || (!to.empty() && !is_before(path, begin, to, to_offset))) return std::nullopt;
    return FileRange{begin, end - begin};
}

bool PathRange::meets(std::string_view path) const noexcept {
    if (!to.empty() && (!is_before(path, 0, to, to_offset) || !is_before(from, from_offset, to, to_offset))) {
        return false;
    }
    // A path that starts before `from` also ends before it, unless `from` is below the path.
    return contains(path) || path.empty() || path == from ||
           (from.size() > path.size() && from.starts_with(path) && from[path.size()] == '/');
}

Result<Split> Split::create(std::vector<Cut> cuts, std::vector<ShardContent> contents, std::uint64_t selection) {
    if (cuts.size() >= kMaxShards) return no_split("more than 4096 shards");
    if (!contents.empty() && contents.size() != cuts.size() + 1) return no_split("the content of a shard is missing");
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const std::string& path = cuts[i].path;
        if (auto checked = check_path(split_path(path)); !checked) return no_split("a path is invalid");
        if (join_path(split_path(path)) != path) return no_split("a path is not in its shortest form");
        if (cuts[i].offset % kCutBytes != 0) return no_split("a file is not divided at a multiple of 8 MiB");
        if (i > 0 && descends(cuts[i - 1], cuts[i])) return no_split("the paths are not in order");
    }
    Split out;
    out.cuts_ = std::move(cuts);
    out.contents_ = std::move(contents);
    out.selection_ = selection;
    return out;
}

Result<Split> Split::parse(std::string_view text) {
    const auto head = take_line(text);
    if (!head || !head->starts_with(kSplitHead)) return no_split("its first line is not that of a plan");
    const std::string_view number = head->substr(kSplitHead.size());
    std::size_t count = 0;
    std::from_chars(number.data(), number.data() + number.size(), count);
    if (number != std::to_string(count) || count == 0 || count > kMaxShards) {
        return no_split("its first line has no number of shards from 1 to 4096");
    }
    std::vector<Cut> cuts;
    while (cuts.size() + 1 < count) {
        const auto line = take_line(text);
        auto cut = line ? parse_cut(*line) : std::nullopt;
        if (!cut) return no_split("it is incomplete, or a path in it was changed");
        cuts.push_back(std::move(*cut));
    }
    auto end = take_line(text);
    std::uint64_t selection = 0;
    std::vector<ShardContent> contents;
    if (end && end->starts_with(kSelection)) {
        const auto chosen = numbers_after(kSelection, *end, 1);
        if (!chosen) return no_split("its selection was changed");
        selection = chosen->front();
        for (std::size_t i = 0; i < count; ++i) {
            const auto line = take_line(text);
            const auto content = line ? numbers_after(kContent, *line, 3) : std::nullopt;
            if (!content) return no_split("it is incomplete, or the content of a shard was changed");
            contents.push_back({(*content)[0], (*content)[1], (*content)[2]});
        }
        end = take_line(text);
    }
    if (!end || *end != kSplitEnd || !text.empty()) return no_split("it is incomplete, or has data after its end");
    return create(std::move(cuts), std::move(contents), selection);
}

std::string Split::to_text() const {
    std::string out = std::string(kSplitHead) + std::to_string(count()) + '\n';
    for (const Cut& cut : cuts_) out += line_of(cut) + '\n';
    if (!contents_.empty()) out += std::string(kSelection) + std::to_string(selection_) + '\n';
    for (const ShardContent& content : contents_) {
        out += std::string(kContent) + std::to_string(content.entries) + ' ' + std::to_string(content.bytes) + ' ' +
               std::to_string(content.names) + '\n';
    }
    return out + std::string(kSplitEnd) + '\n';
}

PathRange Split::part(std::size_t index) const {
    const Cut from = index == 0 ? Cut() : cuts_[index - 1];
    const Cut to = index < cuts_.size() ? cuts_[index] : Cut();
    return {.from = from.path, .to = to.path, .from_offset = from.offset, .to_offset = to.offset};
}

std::optional<ShardContent> Split::content(std::size_t index) const {
    return index < contents_.size() ? std::optional(contents_[index]) : std::nullopt;
}

std::uint64_t Split::digest() const { return path_key(to_text()); }

std::uint64_t shard_number(std::string_view job, const Shard& shard, std::string_view destination) {
    const std::string which = std::to_string(shard.index) + '/' + std::to_string(shard.count);
    return number_of_all({"shard", job, which, join_path(split_path(destination))});
}

std::uint64_t job_number(std::string_view job, std::size_t count, std::string_view destination) {
    return number_of_all({"job", job, std::to_string(count), join_path(split_path(destination))});
}

}  // namespace udtx::transfer
