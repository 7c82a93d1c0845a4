#include "transfer/receipt/receipt.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/path_range.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::transfer {
namespace {

constexpr std::string_view kFirstLine = "udtx-receipt\t1\t";

std::vector<std::string_view> split_tabs(std::string_view line) {
    std::vector<std::string_view> out;
    for (;;) {
        const std::size_t tab = line.find('\t');
        out.push_back(line.substr(0, tab));
        if (tab == std::string_view::npos) return out;
        line.remove_prefix(tab + 1);
    }
}

bool read_number(std::string_view text, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

std::optional<Digest> read_digest(std::string_view text, HashAlgorithm hash) {
    const std::size_t size = digest_bytes(hash);
    if (text.size() != 2 * size) return std::nullopt;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < size; ++i) {
        unsigned value = 0;
        const char* at = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(at, at + 2, value, 16);
        if (error != std::errc() || end != at + 2) return std::nullopt;
        bytes.push_back(static_cast<std::byte>(value));
    }
    return Digest(bytes);
}

class Parser {
  public:
    /// False: the line is not valid in its place.
    bool take(std::string_view line, std::size_t number) {
        const auto fields = split_tabs(line);
        const std::string_view kind = fields.front();
        if (number == 1) return first(line);
        if (kind == "dir" && fields.size() == 3) return entry(fields, EntryType::directory);
        if (kind == "link" && fields.size() == 4) return entry(fields, EntryType::symlink);
        if (kind == "hard" && fields.size() == 4) return entry(fields, EntryType::hard_link);
        if (kind == "file" && fields.size() == 4) return entry(fields, EntryType::file);
        if (kind == "part" && fields.size() == 6) return part(fields);
        if (kind == "shard" && fields.size() == 5) return number == 2 && shard(fields);
        if (kind == "piece" && fields.size() == 4) return piece(fields);
        if (kind == "digest" && fields.size() == 2) return digest(fields[1]);
        if (kind == "failed" && fields.size() == 2) return failed(fields[1]);
        if (kind == "job" && fields.size() == 2) {
            return receipt_.shard && receipt_.shard->run == 0 && read_number(fields[1], receipt_.shard->run);
        }
        if (kind == "root" && fields.size() == 2) return root(fields[1]);
        return false;
    }
    [[nodiscard]] HashAlgorithm hash() const noexcept { return receipt_.hash; }

    /// The receipt, without undelivered entries; nullopt: the root is missing or differs.
    std::optional<Receipt> finish() {
        RootDigest root(receipt_.hash);
        for (const ReceiptEntry& entry : receipt_.entries) {
            if (entry.type == EntryType::file && !entry.digest.bytes().empty()) root.add(entry.index, entry.digest);
        }
        if (!root_ || root.finish() != *root_) return std::nullopt;
        std::set<std::string> undelivered;
        std::erase_if(receipt_.entries, [&](const ReceiptEntry& entry) {
            const bool here =
                !failed_.contains(entry.index) && (entry.type != EntryType::file || !entry.digest.bytes().empty());
            // The entry of a kept file appears a second time, at the end.
            if (here) {
                undelivered.erase(entry.path);
            } else {
                undelivered.insert(entry.path);
            }
            return !here;
        });
        receipt_.undelivered.assign(undelivered.begin(), undelivered.end());
        return std::move(receipt_);
    }

  private:
    bool first(std::string_view line) {
        if (!line.starts_with(kFirstLine)) return false;
        line.remove_prefix(kFirstLine.size());
        for (const HashAlgorithm known : {HashAlgorithm::xxh3_128, HashAlgorithm::sha256}) {
            if (line == to_string(known)) {
                receipt_.hash = known;
                return true;
            }
        }
        return false;
    }
    bool entry(const std::vector<std::string_view>& fields, EntryType type) {
        ReceiptEntry next;
        next.type = type;
        if (type == EntryType::file && !read_number(fields[3], next.size)) return false;
        auto path = unescape_field(fields[2]);
        const bool leads = type == EntryType::symlink || type == EntryType::hard_link;
        auto target = leads ? unescape_field(fields[3]) : std::string();
        if (!path || !target || !read_number(fields[1], next.index)) return false;
        if (!is_plain_path(*path)) return false;
        if (type == EntryType::hard_link && !is_plain_path(*target)) return false;
        next.path = std::move(*path);
        next.target = std::move(*target);
        receipt_.entries.push_back(std::move(next));
        return true;
    }
    /// Reads a file line with two more fields: offset and length of the part.
    bool part(const std::vector<std::string_view>& fields) {
        FileRange bytes;
        const bool read = entry({fields.begin(), fields.begin() + 4}, EntryType::file) &&
                          read_number(fields[4], bytes.offset) && read_number(fields[5], bytes.length);
        const std::uint64_t size = read ? receipt_.entries.back().size : 0;
        if (!read || bytes.length == 0 || bytes.offset >= size || bytes.length > size - bytes.offset) return false;
        receipt_.entries.back().part = bytes;
        return true;
    }
    bool shard(const std::vector<std::string_view>& fields) {
        std::uint64_t index = 0;
        std::uint64_t count = 0;
        JobShard next;
        if (!read_number(fields[1], index) || !read_number(fields[2], count) || !read_number(fields[3], next.job) ||
            !read_number(fields[4], next.split) || count > kMaxShards || index >= count) {
            return false;
        }
        next.index = static_cast<std::size_t>(index);
        next.count = static_cast<std::size_t>(count);
        receipt_.shard = next;
        return true;
    }
    /// The file to which the next piece and digest lines belong.
    [[nodiscard]] ReceiptEntry* open_file() {
        if (receipt_.entries.empty()) return nullptr;
        ReceiptEntry& last = receipt_.entries.back();
        return last.type == EntryType::file && last.digest.bytes().empty() ? &last : nullptr;
    }
    bool piece(const std::vector<std::string_view>& fields) {
        ReceiptEntry* file = open_file();
        ProvenPiece next;
        if (file == nullptr || !read_number(fields[1], next.offset) || !read_number(fields[2], next.length)) {
            return false;
        }
        const auto digest = read_digest(fields[3], receipt_.hash);
        const FileRange all = file->part.value_or(FileRange{0, file->size});
        const std::uint64_t from =
            file->pieces.empty() ? all.offset : file->pieces.back().offset + file->pieces.back().length;
        const std::uint64_t end = all.offset + all.length;
        const bool fits = next.length > 0 && next.length <= kPieceBytes && next.offset >= from && next.offset <= end &&
                          next.length <= end - next.offset;
        if (!digest || !fits) return false;
        next.digest = *digest;
        file->pieces.push_back(next);
        return true;
    }
    bool digest(std::string_view text) {
        ReceiptEntry* file = open_file();
        const auto said = read_digest(text, receipt_.hash);
        if (file == nullptr || !said || digest_of(receipt_.hash, file->size, file->pieces) != *said) return false;
        file->digest = *said;
        return true;
    }
    bool failed(std::string_view text) {
        std::uint64_t index = 0;
        if (!read_number(text, index)) return false;
        failed_.insert(index);
        return true;
    }
    bool root(std::string_view text) {
        if (root_) return false;
        root_ = read_digest(text, receipt_.hash);
        return root_.has_value();
    }

    Receipt receipt_;
    std::set<std::uint64_t> failed_;
    std::optional<Digest> root_;
};

Error damaged(const std::string& what) { return {ErrorCode::integrity, "the receipt cannot be trusted: " + what}; }

}  // namespace

Digest digest_of(HashAlgorithm hash, std::uint64_t size, const std::vector<ProvenPiece>& pieces) {
    FileDigest digest(hash, size);
    for (const ProvenPiece& piece : pieces) digest.add(piece.offset, piece.length, piece.digest);
    return digest.finish();
}

Result<Receipt> parse_receipt(std::string_view text) {
    Parser parser;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t newline = text.find('\n', at);
        if (newline == std::string_view::npos) return damaged("its last line is incomplete");
        const std::string_view line = text.substr(at, newline - at);
        ++number;
        if (number > 1 && line.starts_with("end\t")) {
            Hasher hasher(parser.hash());
            hasher.update(std::as_bytes(std::span(text.substr(0, at))));
            if (line.substr(4) != hasher.finish().hex()) return damaged("it was changed after it was written");
            if (newline + 1 != text.size()) return damaged("it has data after its end");
            auto receipt = parser.finish();
            if (!receipt) return damaged("its root digest differs from its files");
            return std::move(*receipt);
        }
        if (!parser.take(line, number)) return damaged("line " + std::to_string(number) + " is not understood");
        at = newline + 1;
    }
    return damaged("its end is missing");
}

namespace {

struct MergedEntry {
    ReceiptEntry entry;
    std::size_t from = 0;  ///< index of its receipt
};

/// Each shard creates the directories that lead to its files. A file, or another name of one, belongs to only one
/// shard.
bool same_twice(const ReceiptEntry& a, const ReceiptEntry& b) {
    const bool may_be = a.type == EntryType::directory || a.type == EntryType::symlink;
    return may_be && a.type == b.type && a.target == b.target;
}

Error twice(const std::vector<NamedReceipt>& receipts, const MergedEntry& a, const MergedEntry& b) {
    const std::string& first = receipts[a.from].name;
    const std::string& second = receipts[b.from].name;
    return {ErrorCode::integrity, "'" + escape_name(a.entry.path) + "' is in " +
                                      (a.from == b.from ? first + " twice" : "both " + first + " and " + second) +
                                      ": these are not receipts of different shards of one job"};
}

void add_lines(const ReceiptEntry& entry, std::uint64_t index, RootDigest& root, std::string& out) {
    const std::string name = std::to_string(index) + '\t' + escape_field(entry.path);
    switch (entry.type) {
        case EntryType::directory:
            out += "dir\t" + name + '\n';
            return;
        case EntryType::symlink:
            out += "link\t" + name + '\t' + escape_field(entry.target) + '\n';
            return;
        case EntryType::hard_link:
            out += "hard\t" + name + '\t' + escape_field(entry.target) + '\n';
            return;
        case EntryType::file:
            break;
    }
    out += "file\t" + name + '\t' + std::to_string(entry.size) + '\n';
    for (const ProvenPiece& piece : entry.pieces) {
        out += "piece\t" + std::to_string(piece.offset) + '\t' + std::to_string(piece.length) + '\t' +
               piece.digest.hex() + '\n';
    }
    out += "digest\t" + entry.digest.hex() + '\n';
    root.add(index, entry.digest);
}

/// Reads all receipts, and says why they cannot be merged.
class MergeInput {
  public:
    explicit MergeInput(const std::vector<NamedReceipt>& receipts) : receipts_(receipts) {}

    Result<void> read() {
        for (std::size_t i = 0; i < receipts_.size(); ++i) {
            auto parsed = parse_receipt(receipts_[i].text);
            if (!parsed) return Error{parsed.error().code, receipts_[i].name + ": " + parsed.error().message};
            if (auto taken = take(i, std::move(*parsed)); !taken) return taken;
        }
        if (auto whole = check_shards(); !whole) return whole;
        std::ranges::stable_sort(all_, [](const MergedEntry& a, const MergedEntry& b) {
            const auto order = compare_paths(a.entry.path, b.entry.path);
            return order < 0 || (order == 0 && offset_of(a.entry) < offset_of(b.entry));
        });
        return join_parts();
    }
    [[nodiscard]] HashAlgorithm hash() const noexcept { return hash_; }
    [[nodiscard]] const std::vector<MergedEntry>& all() const noexcept { return all_; }

  private:
    static std::uint64_t offset_of(const ReceiptEntry& entry) { return entry.part ? entry.part->offset : 0; }

    [[nodiscard]] Result<void> take(std::size_t i, Receipt receipt) {
        const std::string& name = receipts_[i].name;
        if (i == 0) hash_ = receipt.hash;
        if (receipt.hash != hash_) {
            return Error{ErrorCode::integrity, name + " has another kind of hash than " + receipts_.front().name +
                                                   ", and cannot be compared with it"};
        }
        if (!receipt.undelivered.empty()) {
            return Error{ErrorCode::integrity, name + " says that '" + escape_name(receipt.undelivered.front()) +
                                                   "' was not delivered: run that shard again, and merge its new "
                                                   "receipt"};
        }
        for (ReceiptEntry& entry : receipt.entries) all_.push_back({std::move(entry), i});
        shards_.push_back(receipt.shard);
        return {};
    }

    /// Checks that each shard of the job has exactly one receipt.
    [[nodiscard]] Result<void> check_shards() const {
        if (std::ranges::none_of(shards_, [](const auto& shard) { return shard.has_value(); })) return {};
        const auto first = std::ranges::find_if(shards_, [](const auto& shard) { return shard.has_value(); });
        std::vector<std::string> names((*first)->count);
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            const auto& shard = shards_[i];
            const bool alike = shard && shard->job == (*first)->job && shard->count == (*first)->count &&
                               shard->split == (*first)->split;
            const std::string& of_job = receipts_[static_cast<std::size_t>(first - shards_.begin())].name;
            if (!alike)
                return Error{ErrorCode::integrity, receipts_[i].name + " belongs to another job than " + of_job};
            if (shard->run == 0) {
                return Error{
                    ErrorCode::integrity,
                    receipts_[i].name +
                        " does not say which run of the job it belongs to: its receiver cannot record jobs, or "
                        "is an older version. Compare each receipt with 'udtx-recv verify'"};
            }
            if (shard->run != (*first)->run) {
                return Error{
                    ErrorCode::integrity,
                    receipts_[i].name + " belongs to another run of the job than " + of_job +
                        ": in between, the job was complete, or its destination was removed, cleaned or "
                        "another one. Remove the job at the receiver, run all shards again, and merge their new "
                        "receipts"};
            }
            if (!names[shard->index].empty()) {
                return Error{ErrorCode::integrity, names[shard->index] + " and " + receipts_[i].name +
                                                       " are both of shard " + text_of(*shard)};
            }
            names[shard->index] = receipts_[i].name;
        }
        const auto missing = std::ranges::find(names, std::string());
        if (missing == names.end()) return {};
        JobShard lost = **first;
        lost.index = static_cast<std::size_t>(missing - names.begin());
        return Error{ErrorCode::integrity,
                     "the receipt of shard " + text_of(lost) + " is missing: give those of all shards"};
    }
    static std::string text_of(const JobShard& shard) {
        return std::to_string(shard.index) + "/" + std::to_string(shard.count);
    }

    /// Joins the parts of each file into one entry.
    [[nodiscard]] Result<void> join_parts() {
        std::vector<MergedEntry> out;
        for (MergedEntry& next : all_) {
            ReceiptEntry* const last = out.empty() ? nullptr : &out.back().entry;
            if (last != nullptr && last->path == next.entry.path && last->part && next.entry.part) {
                const std::uint64_t end = last->part->offset + last->part->length;
                const FileRange& part = *next.entry.part;
                if (last->size != next.entry.size || part.offset < end) return twice(receipts_, out.back(), next);
                if (part.offset > end) return gap(*last, end, part.offset);
                last->part->length += part.length;
                std::ranges::move(next.entry.pieces, std::back_inserter(last->pieces));
                continue;
            }
            if (auto closed = close(last); !closed) return closed;
            if (next.entry.part && next.entry.part->offset > 0) return gap(next.entry, 0, next.entry.part->offset);
            out.push_back(std::move(next));
        }
        if (auto closed = close(out.empty() ? nullptr : &out.back().entry); !closed) return closed;
        all_ = std::move(out);
        return {};
    }
    [[nodiscard]] Result<void> close(ReceiptEntry* entry) const {
        if (entry == nullptr || !entry->part) return {};
        if (entry->part->length != entry->size) return gap(*entry, entry->part->length, entry->size);
        entry->part.reset();
        entry->digest = digest_of(hash_, entry->size, entry->pieces);
        return {};
    }
    static Error gap(const ReceiptEntry& entry, std::uint64_t from, std::uint64_t to) {
        return {ErrorCode::integrity, "'" + escape_name(entry.path) + "': bytes " + std::to_string(from) + " to " +
                                          std::to_string(to - 1) + " are missing in all receipts"};
    }

    const std::vector<NamedReceipt>& receipts_;
    HashAlgorithm hash_ = HashAlgorithm::xxh3_128;
    std::vector<std::optional<JobShard>> shards_;  // of each receipt
    std::vector<MergedEntry> all_;
};

}  // namespace

Result<MergedReceipt> merge_receipts(const std::vector<NamedReceipt>& receipts) {
    if (receipts.empty()) return Error{ErrorCode::invalid_argument, "there are no receipts to merge"};
    MergeInput input(receipts);
    if (auto read = input.read(); !read) return read.error();
    const std::vector<MergedEntry>& all = input.all();
    MergedReceipt out;
    out.text = "udtx-receipt\t1\t" + std::string(to_string(input.hash())) + '\n';
    RootDigest root(input.hash());
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const ReceiptEntry& entry = all[i].entry;
        if (i > 0 && all[i - 1].entry.path == entry.path) {
            if (!same_twice(all[i - 1].entry, entry)) return twice(receipts, all[i - 1], all[i]);
            continue;
        }
        if (entry.type == EntryType::file) {
            ++out.files;
            add_up(out.bytes, entry.size);
        }
        add_lines(entry, index++, root, out.text);
    }
    out.text += "root\t" + root.finish().hex() + '\n';
    Hasher whole(input.hash());
    whole.update(std::as_bytes(std::span(out.text)));
    out.text += "end\t" + whole.finish().hex() + '\n';
    return out;
}

}  // namespace udtx::transfer
