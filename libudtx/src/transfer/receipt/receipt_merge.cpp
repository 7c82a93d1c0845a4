#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transfer/file_digest.hpp"
#include "transfer/names.hpp"
#include "transfer/receipt/receipt.hpp"
#include "udtx/transfer/path_range.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::transfer {

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
