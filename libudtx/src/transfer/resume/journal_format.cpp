#include "transfer/resume/journal_format.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <utility>

#include "transfer/message/fields.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

using wire::Writer;

constexpr std::size_t kCheckBytes = 8;
constexpr std::size_t kHeadBytes = 2 + kCheckBytes;  // length and check

// 5 is Done in version 1, with a time in nanoseconds.
enum class RecordType : std::uint8_t {
    header = 1,
    partial = 2,
    piece = 3,
    gone = 4,
    done_in_nanoseconds = 5,
    rights = 6,
    done = 7,
    shared_partial = 8
};

/// The check is seeded with the offset, so that a record copied to another place fails it.
std::uint64_t check_of(std::uint64_t offset, std::span<const std::byte> body) { return short_hash(body, offset); }

bool put_type(Writer& out, RecordType type) { return out.u8(static_cast<std::uint8_t>(type)); }
bool put_digest(Writer& out, const Digest& digest) {
    return out.varint(digest.bytes().size()) && out.bytes(digest.bytes());
}

bool put(Writer& out, const record::Header& r) {
    return put_type(out, RecordType::header) && out.varint(r.version) && out.u64(r.transfer) &&
           out.u8(static_cast<std::uint8_t>(r.hash));
}
bool put(Writer& out, const record::Partial& r) {
    if (r.shared == 0) return put_type(out, RecordType::partial) && out.varint(r.number) && put_path(out, r.path);
    return put_type(out, RecordType::shared_partial) && out.varint(r.number) && put_path(out, r.path) &&
           out.u64(r.shared);
}
bool put(Writer& out, const record::Rights& r) {
    return put_type(out, RecordType::rights) && put_path(out, r.path) && out.varint(r.mode) && out.u8(r.lent ? 1 : 0);
}
bool put(Writer& out, const record::Piece& r) {
    return put_type(out, RecordType::piece) && out.varint(r.number) && out.varint(r.piece.offset) &&
           out.varint(r.piece.length) && put_digest(out, r.piece.digest);
}
bool put(Writer& out, const record::Gone& r) { return put_type(out, RecordType::gone) && out.varint(r.number); }
bool put(Writer& out, const record::Done& r) {
    return put_type(out, RecordType::done) && out.u64(r.path_key) && out.varint(r.size) && put_time(out, r.mtime) &&
           put_digest(out, r.digest);
}

FileTime from_nanoseconds(std::int64_t ns) {
    std::int64_t seconds = ns / kNanosecondsInSecond;
    std::int64_t rest = ns % kNanosecondsInSecond;
    if (rest < 0) {
        rest += kNanosecondsInSecond;
        --seconds;
    }
    return {seconds, static_cast<std::uint32_t>(rest)};
}

std::optional<JournalRecord> parse_body(RecordType type, Fields& in) {
    switch (type) {
        case RecordType::header: {
            record::Header r;
            r.version = in.varint();
            r.transfer = in.u64();
            const auto hash = hash_algorithm_from(in.u8());
            in.require(hash.has_value());
            r.hash = hash.value_or(HashAlgorithm::xxh3_128);
            return r;
        }
        case RecordType::shared_partial:
        case RecordType::partial: {
            record::Partial r;
            r.number = in.varint();
            r.path = in.path();
            in.require(check_path(r.path).ok());
            if (type == RecordType::shared_partial) r.shared = in.u64();
            in.require((type == RecordType::shared_partial) == (r.shared != 0));
            return r;
        }
        case RecordType::piece: {
            record::Piece r;
            r.number = in.varint();
            r.piece.offset = in.varint();
            r.piece.length = in.varint();
            r.piece.digest = in.digest();
            return r;
        }
        case RecordType::gone:
            return record::Gone{in.varint()};
        case RecordType::rights: {
            record::Rights r;
            r.path = in.path();
            in.require(r.path.empty() || check_path(r.path).ok());
            r.mode = static_cast<std::uint32_t>(in.varint(07777));
            r.lent = in.u8(1) != 0;
            return r;
        }
        case RecordType::done_in_nanoseconds:
        case RecordType::done: {
            record::Done r;
            r.path_key = in.u64();
            r.size = in.varint();
            r.mtime = type == RecordType::done ? in.time() : from_nanoseconds(static_cast<std::int64_t>(in.u64()));
            r.digest = in.digest();
            return r;
        }
    }
    return std::nullopt;
}

/// Applies records in order to an image.
class Replay {
  public:
    explicit Replay(JournalImage& image) : image_(image) {}

    /// False: a receiver cannot have written this record.
    bool operator()(const record::Header& r) {
        image_.header = r;
        return !std::exchange(image_.has_header, true) && r.version > 0 && r.version <= kJournalVersion;
    }
    bool operator()(const record::Partial& r) {
        const std::string path = join_path(r.path);
        const std::uint64_t key = path_key(path);
        if (!image_.has_header || r.number < image_.next_number) return false;
        image_.next_number = r.number + 1;
        image_.partials[key] = {r.number, path, {}, r.shared};
        image_.done.erase(key);
        keys_[r.number] = key;
        return true;
    }
    bool operator()(const record::Piece& r) {
        const bool fits = r.piece.length > 0 && r.piece.length <= kMaxFileBytes - r.piece.offset &&
                          r.piece.digest.bytes().size() == digest_bytes(image_.header.hash);
        const auto key = keys_.find(r.number);
        if (!fits || key == keys_.end()) return false;
        const auto partial = image_.partials.find(key->second);
        // If the file is done or gone, the piece was still on its way to the journal.
        if (partial != image_.partials.end() && partial->second.number == r.number) {
            partial->second.pieces[r.piece.offset] = r.piece;
        }
        return true;
    }
    bool operator()(const record::Gone& r) {
        const auto key = keys_.find(r.number);
        if (key == keys_.end()) return false;
        const auto partial = image_.partials.find(key->second);
        if (partial != image_.partials.end() && partial->second.number == r.number) image_.partials.erase(partial);
        return true;
    }
    bool operator()(const record::Done& r) {
        if (!image_.has_header || r.digest.bytes().size() != digest_bytes(image_.header.hash)) return false;
        image_.partials.erase(r.path_key);
        image_.done[r.path_key] = r;
        return true;
    }
    bool operator()(const record::Rights& r) {
        if (!image_.has_header) return false;
        if (r.lent) {
            image_.rights[join_path(r.path)] = r.mode;
        } else {
            image_.rights.erase(join_path(r.path));
        }
        return true;
    }

  private:
    JournalImage& image_;
    std::unordered_map<std::uint64_t, std::uint64_t> keys_;  // number -> path key
};

}  // namespace

void append_framed(std::vector<std::byte>& out, std::uint64_t offset, std::span<const std::byte> body) {
    std::array<std::byte, kHeadBytes> head{};
    wire::store_big_endian(head.data(), body.size(), 2);
    wire::store_big_endian(head.data() + 2, check_of(offset, body), kCheckBytes);
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), body.begin(), body.end());
}

std::optional<std::span<const std::byte>> framed_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    if (bytes.size() < kHeadBytes) return std::nullopt;
    const auto length = static_cast<std::size_t>(wire::load_big_endian(bytes.data(), 2));
    if (length > bytes.size() - kHeadBytes) return std::nullopt;
    const auto body = bytes.subspan(kHeadBytes, length);
    if (wire::load_big_endian(bytes.data() + 2, kCheckBytes) != check_of(offset, body)) return std::nullopt;
    return body;
}

std::size_t framed_bytes(std::span<const std::byte> body) noexcept { return kHeadBytes + body.size(); }

void append_record(std::vector<std::byte>& out, std::uint64_t offset, const JournalRecord& record) {
    std::array<std::byte, kMaxRecordBytes> body_bytes;
    Writer body(body_bytes);
    [[maybe_unused]] const bool fits = std::visit([&](const auto& r) { return put(body, r); }, record);
    assert(fits && "a record beyond its bounds");
    append_framed(out, offset, body.written());
}

Result<JournalRecord> parse_record(std::span<const std::byte> body) {
    Fields in(body);
    auto record = parse_body(static_cast<RecordType>(in.u8()), in);
    if (!record || !in.complete()) return Error{ErrorCode::malformed, "malformed journal record"};
    return std::move(*record);
}

std::uint64_t temp_number(const record::Header& header, std::string_view path) {
    if (header.version < 3) return header.transfer ^ path_key(path);
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update_u64(header.transfer);
    hasher.update(std::as_bytes(std::span(path)));
    return wire::load_big_endian(hasher.finish().bytes().data(), 8);
}

std::uint64_t shared_temp_number(std::uint64_t job, std::string_view path) {
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span("shared")));
    hasher.update_u64(job);
    hasher.update(std::as_bytes(std::span(path)));
    return std::max<std::uint64_t>(wire::load_big_endian(hasher.finish().bytes().data(), 8), 1);
}

JournalImage parse_journal(std::span<const std::byte> bytes) {
    JournalImage image;
    Replay replay(image);
    while (const auto body = framed_at(bytes.subspan(image.valid_bytes), image.valid_bytes)) {
        const auto record = parse_record(*body);
        if (!record || !std::visit(replay, *record)) break;
        image.valid_bytes += framed_bytes(*body);
    }
    return image;
}

}  // namespace udtx::transfer
