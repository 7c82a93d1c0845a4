#include <algorithm>
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
    std::size_t from = 0;  ///< which receipt
};

/// Each shard makes the directories on its way. A file or another name of one is moved by one shard only.
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

}  // namespace

Result<MergedReceipt> merge_receipts(const std::vector<NamedReceipt>& receipts) {
    if (receipts.empty()) return Error{ErrorCode::invalid_argument, "there are no receipts to merge"};
    std::vector<MergedEntry> all;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    for (std::size_t i = 0; i < receipts.size(); ++i) {
        auto parsed = parse_receipt(receipts[i].text);
        if (!parsed) return Error{parsed.error().code, receipts[i].name + ": " + parsed.error().message};
        if (i == 0) hash = parsed->hash;
        if (parsed->hash != hash) {
            return Error{ErrorCode::integrity, receipts[i].name + " has other hashes than " + receipts.front().name +
                                                   ", and cannot be compared with it"};
        }
        if (!parsed->undelivered.empty()) {
            return Error{ErrorCode::integrity,
                         receipts[i].name + " says that '" + escape_name(parsed->undelivered.front()) +
                             "' was not delivered: run that shard again, and merge its new receipt"};
        }
        for (ReceiptEntry& entry : parsed->entries) all.push_back({std::move(entry), i});
    }
    std::ranges::stable_sort(
        all, [](const auto& a, const auto& b) { return compare_paths(a.entry.path, b.entry.path) < 0; });
    MergedReceipt out;
    out.text = "udtx-receipt\t1\t" + std::string(to_string(hash)) + '\n';
    RootDigest root(hash);
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const ReceiptEntry& entry = all[i].entry;
        if (i > 0 && all[i - 1].entry.path == entry.path) {
            if (!same_twice(all[i - 1].entry, entry)) return twice(receipts, all[i - 1], all[i]);
            continue;
        }
        if (entry.type == EntryType::file) {
            ++out.files;
            out.bytes += entry.size;
        }
        add_lines(entry, index++, root, out.text);
    }
    out.text += "root\t" + root.finish().hex() + '\n';
    Hasher whole(hash);
    whole.update(std::as_bytes(std::span(out.text)));
    out.text += "end\t" + whole.finish().hex() + '\n';
    return out;
}

}  // namespace udtx::transfer
