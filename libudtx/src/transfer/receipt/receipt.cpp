#include "transfer/receipt/receipt.hpp"

#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "transfer/file_digest.hpp"
#include "transfer/names.hpp"
#include "transfer/pieces/piece_map.hpp"

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

}  // namespace udtx::transfer
