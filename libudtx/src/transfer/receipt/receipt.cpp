#include "transfer/receipt/receipt.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {
namespace {

std::vector<std::string_view> split_tabs(std::string_view line) {
    std::vector<std::string_view> out;
    for (;;) {
        const std::size_t tab = line.find('\t');
        out.push_back(line.substr(0, tab));
        if (tab == std::string_view::npos) return out;
        line.remove_prefix(tab + 1);
    }
}

/// Digest of a file that consists of `pieces`.
Digest digest_of(HashAlgorithm hash, std::uint64_t size, const std::vector<ProvenPiece>& pieces) {
    FileDigest digest(hash, size);
    for (const ProvenPiece& piece : pieces) digest.add(piece.offset, piece.length, piece.digest);
    return digest.finish();
}

class Parser {
  public:
    /// False: the line is not valid in its place.
    bool take(std::string_view line, std::size_t number) {
        if (number == 1) return first(line);
        const auto fields = split_tabs(line);
        const std::string_view kind = fields.front();
        ReceiptEntry next;
        if (kind == "dir") return read(fields, next.index, next.path) && add(EntryType::directory, std::move(next));
        if (kind == "link") {
            return read(fields, next.index, next.path, next.target) && add(EntryType::symlink, std::move(next));
        }
        if (kind == "hard") {
            return read(fields, next.index, next.path, next.target) && is_plain_path(next.target) &&
                   add(EntryType::hard_link, std::move(next));
        }
        if (kind == "file") {
            return read(fields, next.index, next.path, next.size) && add(EntryType::file, std::move(next));
        }
        if (kind == "part") return part(fields);
        if (kind == "shard") return number == 2 && shard(fields);
        if (kind == "piece") return piece(fields);
        if (kind == "digest") return digest(fields);
        if (kind == "failed") return read(fields, failed_.emplace_back());
        if (kind == "job") return receipt_.shard && receipt_.shard->run == 0 && read(fields, receipt_.shard->run);
        if (kind.starts_with('+')) return true;  // of a later release
        return kind == "root" && !root_ && read(fields, root_.emplace());
    }
    [[nodiscard]] HashAlgorithm hash() const noexcept { return receipt_.hash; }

    /// The receipt, without undelivered entries; nullopt: the root is missing or differs.
    std::optional<Receipt> finish() {
        RootDigest root(receipt_.hash);
        for (const ReceiptEntry& entry : receipt_.entries) {
            if (entry.type == EntryType::file && !entry.digest.bytes().empty()) root.add(entry.index, entry.digest);
        }
        if (!root_ || root.finish() != *root_) return std::nullopt;
        const std::set<std::uint64_t> failed(failed_.begin(), failed_.end());
        std::set<std::string> undelivered;
        std::erase_if(receipt_.entries, [&](const ReceiptEntry& entry) {
            const bool here =
                !failed.contains(entry.index) && (entry.type != EntryType::file || !entry.digest.bytes().empty());
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
    using Fields = std::vector<std::string_view>;

    /// Reads all fields after the kind.
    template <class... Values>
    bool read(const Fields& fields, Values&... values) const {
        std::size_t next = 1;
        // A later release may add fields.
        return fields.size() >= 1 + sizeof...(values) && (read_field(fields[next++], values) && ...);
    }
    static bool read_field(std::string_view text, std::uint64_t& value) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc() && end == text.data() + text.size();
    }
    static bool read_field(std::string_view text, std::string& value) {
        auto plain = unescape_field(text);
        if (plain) value = std::move(*plain);
        return plain.has_value();
    }
    bool read_field(std::string_view text, Digest& value) const {
        std::array<std::byte, Digest::kMaxBytes> bytes{};
        const std::size_t size = digest_bytes(receipt_.hash);
        if (text.size() != 2 * size) return false;
        for (std::size_t i = 0; i < size; ++i) {
            unsigned byte = 0;
            const char* at = text.data() + 2 * i;
            const auto [end, error] = std::from_chars(at, at + 2, byte, 16);
            if (error != std::errc() || end != at + 2) return false;
            bytes[i] = static_cast<std::byte>(byte);
        }
        value = Digest(std::span(bytes).first(size));
        return true;
    }

    bool first(std::string_view line) {
        for (const HashAlgorithm known : {HashAlgorithm::xxh3_128, HashAlgorithm::sha256}) {
            receipt_.hash = known;
            if (std::string(line) + '\n' == first_line(known)) return true;
        }
        return false;
    }
    bool add(EntryType type, ReceiptEntry entry) {
        if (!is_plain_path(entry.path)) return false;
        entry.type = type;
        receipt_.entries.push_back(std::move(entry));
        return true;
    }
    bool part(const Fields& fields) {
        ReceiptEntry next;
        FileRange bytes;
        if (!read(fields, next.index, next.path, next.size, bytes.offset, bytes.length)) return false;
        if (bytes.length == 0 || bytes.offset >= next.size || bytes.length > next.size - bytes.offset) return false;
        next.part = bytes;
        return add(EntryType::file, std::move(next));
    }
    bool shard(const Fields& fields) {
        JobShard next;
        if (!read(fields, next.index, next.count, next.job, next.split)) return false;
        if (next.count > kMaxShards || next.index >= next.count) return false;
        receipt_.shard = next;
        return true;
    }
    /// The file to which the next piece and digest lines belong.
    [[nodiscard]] ReceiptEntry* open_file() {
        if (receipt_.entries.empty()) return nullptr;
        ReceiptEntry& last = receipt_.entries.back();
        return last.type == EntryType::file && last.digest.bytes().empty() ? &last : nullptr;
    }
    bool piece(const Fields& fields) {
        ReceiptEntry* file = open_file();
        ProvenPiece next;
        if (file == nullptr || !read(fields, next.offset, next.length, next.digest)) return false;
        const FileRange all = file->part.value_or(FileRange{0, file->size});
        const std::uint64_t from =
            file->pieces.empty() ? all.offset : file->pieces.back().offset + file->pieces.back().length;
        const std::uint64_t end = all.offset + all.length;
        const bool fits = next.length > 0 && next.length <= kPieceBytes && next.offset >= from && next.offset <= end &&
                          next.length <= end - next.offset;
        if (fits) file->pieces.push_back(next);
        return fits;
    }
    bool digest(const Fields& fields) {
        ReceiptEntry* file = open_file();
        Digest said;
        if (file == nullptr || !read(fields, said)) return false;
        file->digest = said;
        return digest_of(receipt_.hash, file->size, file->pieces) == said;
    }

    Receipt receipt_;
    std::vector<std::uint64_t> failed_;
    std::optional<Digest> root_;
};

Error damaged(const std::string& what) { return {ErrorCode::integrity, "the receipt cannot be trusted: " + what}; }

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

/// Compares a directory with a receipt.
class Checker {
  public:
    Checker(const Receipt& receipt, const ConfinedDir& base, const CheckCallbacks& callbacks)
        : receipt_(receipt), base_(base), callbacks_(callbacks), hasher_(receipt.hash) {}

    void check(const ReceiptEntry& entry) {
        ++counts_.entries;
        if (is_right(entry)) return;
        ++counts_.different;
        callbacks_.differs(entry.path);
    }
    [[nodiscard]] const CheckCounts& counts() const noexcept { return counts_; }

  private:
    bool is_right(const ReceiptEntry& entry) {
        switch (entry.type) {
            case EntryType::file:
                return check_file(entry);
            case EntryType::directory:
                return check_directory(entry);
            case EntryType::hard_link:
                return check_other_name(entry);
            case EntryType::symlink:
                break;
        }
        return check_link(entry);
    }

    bool differs(const ReceiptEntry& entry, const std::string& how) {
        callbacks_.tell(escape_name(entry.path) + ": " + how);
        return false;
    }
    bool cannot(const ReceiptEntry& entry, int error) {
        if (error == ENOENT || error == ENOTDIR) return differs(entry, "missing");
        ++counts_.unreadable;
        return differs(entry, std::string("cannot be read: ") + std::strerror(error));
    }

    bool check_directory(const ReceiptEntry& entry) {
        const auto [fd, error] = base_.open_directory(entry.path);
        if (fd) return true;
        if (error == ENOTDIR || error == ELOOP) return differs(entry, "is not a directory");
        return cannot(entry, error);
    }

    bool check_link(const ReceiptEntry& entry) {
        const auto [directory, leaf] = split_leaf(entry.path);
        auto [parent, error] = base_.open_directory(directory);
        if (!parent) return cannot(entry, error);
        std::array<char, PATH_MAX> target{};
        const ssize_t length = ::readlinkat(parent.get(), leaf.c_str(), target.data(), target.size());
        if (length < 0 && errno == EINVAL) return differs(entry, "is not a symbolic link");
        if (length < 0) return cannot(entry, errno);
        if (std::string_view(target.data(), static_cast<std::size_t>(length)) == entry.target) return true;
        return differs(entry, "has another target");
    }

    bool check_file(const ReceiptEntry& entry) {
        ++counts_.files;
        add_up(counts_.bytes, bytes_of(entry).length);
        // O_NONBLOCK: opening a FIFO in the place of the file must not block.
        auto [fd, error] = base_.open_at(entry.path, O_RDONLY | O_NONBLOCK);
        if (!fd && error == ELOOP) return differs(entry, "is not a regular file");
        if (!fd) return cannot(entry, error);
        struct stat status = {};
        if (::fstat(fd.get(), &status) != 0) return cannot(entry, errno);
        if (!S_ISREG(status.st_mode)) return differs(entry, "is not a regular file");
        const auto size = static_cast<std::uint64_t>(status.st_size);
        bool same = true;
        if (size != entry.size) {
            same = differs(entry, "has " + std::to_string(size) + " bytes, not " + std::to_string(entry.size));
        }
        return check_content(entry, fd.get(), size) && same;
    }

    /// Accepts a copy as well: a receipt is about the content.
    bool check_other_name(const ReceiptEntry& entry) {
        if (is_same_file(base_, entry.path, entry.target)) {
            ++counts_.files;
            return true;
        }
        const ReceiptEntry* const first = find_file(entry.target);
        if (first == nullptr) return differs(entry, "is not the same file as " + escape_name(entry.target));
        ReceiptEntry copy = *first;
        copy.path = entry.path;
        return check_file(copy);
    }

    const ReceiptEntry* find_file(const std::string& path) {
        // Few receipts have names to look up.
        if (files_.empty()) {
            for (const ReceiptEntry& entry : receipt_.entries) {
                if (entry.type == EntryType::file) files_.emplace(entry.path, &entry);
            }
        }
        const auto found = files_.find(path);
        return found == files_.end() ? nullptr : found->second;
    }

    static FileRange bytes_of(const ReceiptEntry& entry) { return entry.part.value_or(FileRange{0, entry.size}); }

    /// Checks all blocks that exist, even if the file has another size: equal ones need not be sent again.
    bool check_content(const ReceiptEntry& entry, int fd, std::uint64_t size) {
        bool same = true;
        std::uint64_t from = bytes_of(entry).offset;
        const std::uint64_t end = from + bytes_of(entry).length;
        for (const ProvenPiece& piece : entry.pieces) {
            same = check_hole(entry, fd, from, piece.offset) && same;
            from = piece.offset + piece.length;
            if (from > size)
                return differs(entry, "there is no data from byte " + std::to_string(piece.offset) + " on");
            const auto digest = hasher_.hash(fd, piece.offset, piece.length);
            if (!digest) return cannot(entry, hasher_.error());
            if (*digest != piece.digest) same = differs(entry, span_text(piece.offset, from) + " differ");
        }
        return check_hole(entry, fd, from, std::min(end, size)) && same;
    }
    bool check_hole(const ReceiptEntry& entry, int fd, std::uint64_t from, std::uint64_t to) {
        if (to <= from) return true;
        const auto zero = hasher_.is_zero(fd, from, to - from);
        if (!zero) return cannot(entry, hasher_.error());
        return *zero || differs(entry, span_text(from, to) + " differ");
    }
    static std::string span_text(std::uint64_t from, std::uint64_t to) {
        return "bytes " + std::to_string(from) + " to " + std::to_string(to - 1);
    }

    const Receipt& receipt_;
    const ConfinedDir& base_;
    const CheckCallbacks& callbacks_;
    PieceHasher hasher_;
    CheckCounts counts_;
    std::unordered_map<std::string_view, const ReceiptEntry*> files_;  // of find_file(), filled at its first call
};

}  // namespace

std::string first_line(HashAlgorithm hash) { return receipt_line("udtx-receipt", 1, std::string(to_string(hash))); }

std::string entry_line(const ReceiptEntry& entry) {
    switch (entry.type) {
        case EntryType::directory:
            return receipt_line("dir", entry.index, entry.path);
        case EntryType::symlink:
            return receipt_line("link", entry.index, entry.path, entry.target);
        case EntryType::hard_link:
            return receipt_line("hard", entry.index, entry.path, entry.target);
        case EntryType::file:
            break;
    }
    if (!entry.part) return receipt_line("file", entry.index, entry.path, entry.size);
    return receipt_line("part", entry.index, entry.path, entry.size, entry.part->offset, entry.part->length);
}

std::string piece_line(const ProvenPiece& piece) {
    return receipt_line("piece", piece.offset, piece.length, piece.digest);
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

Result<MergedReceipt> merge_receipts(const std::vector<NamedReceipt>& receipts) {
    if (receipts.empty()) return Error{ErrorCode::invalid_argument, "there are no receipts to merge"};
    MergeInput input(receipts);
    if (auto read = input.read(); !read) return read.error();
    const std::vector<MergedEntry>& all = input.all();
    MergedReceipt out;
    out.text = first_line(input.hash());
    RootDigest root(input.hash());
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        ReceiptEntry entry = all[i].entry;
        if (i > 0 && all[i - 1].entry.path == entry.path) {
            if (!same_twice(all[i - 1].entry, entry)) return twice(receipts, all[i - 1], all[i]);
            continue;
        }
        entry.index = index++;
        out.text += entry_line(entry);
        if (entry.type != EntryType::file) continue;
        ++out.files;
        add_up(out.bytes, entry.size);
        for (const ProvenPiece& piece : entry.pieces) out.text += piece_line(piece);
        out.text += receipt_line("digest", entry.digest);
        root.add(entry.index, entry.digest);
    }
    out.text += receipt_line("root", root.finish());
    Hasher whole(input.hash());
    whole.update(std::as_bytes(std::span(out.text)));
    out.text += receipt_line("end", whole.finish());
    return out;
}

Result<CheckCounts> check_receipt(std::string_view receipt, const std::string& directory,
                                  const CheckCallbacks& callbacks) {
    const auto parsed = parse_receipt(receipt);
    if (!parsed) return parsed.error();
    // Symbolic links in the path of a file are not followed.
    const auto base = ConfinedDir::open(directory);
    if (!base) return base.error();
    Checker checker(*parsed, *base, callbacks);
    for (const ReceiptEntry& entry : parsed->entries) checker.check(entry);
    return checker.counts();
}

}  // namespace udtx::transfer
