#include "transfer/shard/job_format.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <utility>

#include "transfer/file/journal.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/job_shard.hpp"

namespace udtx::transfer {

namespace {

using wire::Writer;

enum class JobRecordType : std::uint8_t {
    head = 1,
    file_begun = 2,
    part_piece = 3,
    part_filled = 4,
    file_named = 5,
    shard_state = 6,
    top = 7,
    file_opened = 8,
    file_left = 9,
    part_void = 10
};

bool put_job_type(Writer& out, JobRecordType type) { return out.u8(static_cast<std::uint8_t>(type)); }

bool put_times(Writer& out, const FileTimes& times) {
    return put_time(out, times.modified) && put_time(out, times.changed);
}

bool put_job(Writer& out, const job_record::Head& r) {
    return put_job_type(out, JobRecordType::head) && out.varint(r.version) && out.u64(r.job) && out.varint(r.count) &&
           out.u64(r.split) && out.u8(static_cast<std::uint8_t>(r.hash)) && out.u64(r.selection) && out.u64(r.run);
}
bool put_job(Writer& out, const job_record::FileBegun& r) {
    return put_job_type(out, JobRecordType::file_begun) && out.u64(r.temporary) && put_path(out, r.path) &&
           out.varint(r.size) && put_time(out, r.mtime);
}
bool put_job(Writer& out, const job_record::PartPiece& r) {
    return put_job_type(out, JobRecordType::part_piece) && out.u64(r.temporary) && out.varint(r.piece.offset) &&
           out.varint(r.piece.length) && out.varint(r.piece.digest.bytes().size()) && out.bytes(r.piece.digest.bytes());
}
bool put_job(Writer& out, const job_record::PartFilled& r) {
    return put_job_type(out, JobRecordType::part_filled) && out.u64(r.temporary) && out.varint(r.part.offset) &&
           out.varint(r.part.length) && put_times(out, r.times);
}
bool put_job(Writer& out, const job_record::FileNamed& r) {
    return put_job_type(out, JobRecordType::file_named) && out.u64(r.temporary);
}
bool put_job(Writer& out, const job_record::ShardState& r) {
    return put_job_type(out, JobRecordType::shard_state) && out.varint(r.index) &&
           out.u8(static_cast<std::uint8_t>(r.state));
}

bool put_job(Writer& out, const job_record::Top& r) {
    return put_job_type(out, JobRecordType::top) && put_path(out, {r.name}) && put_time(out, r.made);
}

bool put_job(Writer& out, const job_record::FileOpened& r) {
    return put_job_type(out, JobRecordType::file_opened) && out.u64(r.temporary) && out.varint(r.index) &&
           out.u8(r.sure ? 1 : 0);
}
bool put_job(Writer& out, const job_record::FileLeft& r) {
    return put_job_type(out, JobRecordType::file_left) && out.u64(r.temporary) && put_times(out, r.times);
}
bool put_job(Writer& out, const job_record::PartVoid& r) {
    return put_job_type(out, JobRecordType::part_void) && out.u64(r.temporary) && out.varint(r.offset);
}

job_record::Head parse_head(Fields& in) {
    job_record::Head r;
    r.version = in.varint();
    r.job = in.u64();
    r.count = in.varint(kMaxShards);
    r.split = in.u64();
    const auto hash = hash_algorithm_from(in.u8());
    in.require(hash.has_value() && r.count > 0 && r.version == kJobFileVersion);
    r.hash = hash.value_or(HashAlgorithm::xxh3_128);
    r.selection = in.u64();
    r.run = in.u64();
    return r;
}

job_record::FileBegun parse_begun(Fields& in) {
    job_record::FileBegun r;
    r.temporary = in.u64();
    r.path = in.path();
    r.size = in.varint(kMaxFileBytes);
    r.mtime = in.time();
    in.require(check_path(r.path).ok());
    return r;
}

job_record::PartPiece parse_piece(Fields& in) {
    job_record::PartPiece r;
    r.temporary = in.u64();
    r.piece.offset = in.varint(kMaxFileBytes);
    r.piece.length = in.varint(kMaxFileBytes);
    r.piece.digest = in.digest();
    return r;
}

FileTimes parse_times(Fields& in) {
    const FileTime modified = in.time();
    return {modified, in.time()};
}

job_record::PartFilled parse_filled(Fields& in) {
    job_record::PartFilled r;
    r.temporary = in.u64();
    r.part.offset = in.varint(kMaxFileBytes);
    r.part.length = in.varint(kMaxFileBytes);
    r.times = parse_times(in);
    return r;
}

std::optional<JobRecord> parse_job_record(std::span<const std::byte> body) {
    Fields in(body);
    std::optional<JobRecord> out;
    switch (static_cast<JobRecordType>(in.u8())) {
        case JobRecordType::head:
            out = parse_head(in);
            break;
        case JobRecordType::file_begun:
            out = parse_begun(in);
            break;
        case JobRecordType::part_piece:
            out = parse_piece(in);
            break;
        case JobRecordType::part_filled:
            out = parse_filled(in);
            break;
        case JobRecordType::file_named:
            out = job_record::FileNamed{in.u64()};
            break;
        case JobRecordType::shard_state: {
            job_record::ShardState r;
            r.index = in.varint(kMaxShards - 1);
            r.state = static_cast<job_record::ShardState::State>(in.u8(2));
            out = r;
            break;
        }
        case JobRecordType::top: {
            const std::vector<std::string> path = in.path();
            in.require(path.size() == 1 && check_path(path).ok());
            out = job_record::Top{join_path(path), in.time()};
            break;
        }
        case JobRecordType::file_opened: {
            job_record::FileOpened r;
            r.temporary = in.u64();
            r.index = in.varint(kMaxShards - 1);
            r.sure = in.u8(1) == 1;
            out = r;
            break;
        }
        case JobRecordType::file_left: {
            const std::uint64_t temporary = in.u64();
            out = job_record::FileLeft{temporary, parse_times(in)};
            break;
        }
        case JobRecordType::part_void: {
            const std::uint64_t temporary = in.u64();
            out = job_record::PartVoid{temporary, in.varint(kMaxFileBytes)};
            break;
        }
    }
    return in.complete() ? out : std::nullopt;
}

/// Applies records in order. False: a receiver cannot have written the record.
class JobReplay {
  public:
    explicit JobReplay(JobImage& image) : image_(image) {}

    bool operator()(const job_record::Head& r) {
        image_.head = r;
        image_.shards.assign(static_cast<std::size_t>(r.count), std::nullopt);
        return !std::exchange(image_.has_head, true);
    }
    bool operator()(const job_record::FileBegun& r) {
        image_.named.erase(r.temporary);
        image_.files[r.temporary] = {join_path(r.path), r.size, r.mtime};
        return image_.has_head;
    }
    bool operator()(const job_record::PartPiece& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        const bool fits = file != nullptr && r.piece.length > 0 && r.piece.offset < file->size &&
                          r.piece.length <= file->size - r.piece.offset &&
                          r.piece.digest.bytes().size() == digest_bytes(image_.head.hash);
        if (fits) file->next_pieces[r.piece.offset] = r.piece;
        return fits;
    }
    bool operator()(const job_record::PartFilled& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        const bool fits = file != nullptr && r.part.length > 0 && r.part.offset < file->size &&
                          r.part.length <= file->size - r.part.offset;
        if (!fits) return false;
        file->filled[r.part.offset] = r.part.length;
        file->times = r.times;
        file->pieces.erase(file->pieces.lower_bound(r.part.offset),
                           file->pieces.lower_bound(r.part.offset + r.part.length));
        file->pieces.merge(file->next_pieces);
        file->next_pieces.clear();
        return true;
    }
    bool operator()(const job_record::FileOpened& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        if (file != nullptr && r.index < image_.shards.size()) file->writers[r.index] = r.sure;
        return file != nullptr && r.index < image_.shards.size();
    }
    bool operator()(const job_record::FileLeft& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        if (file != nullptr) file->times = r.times;
        return file != nullptr;
    }
    bool operator()(const job_record::PartVoid& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        const auto part = file != nullptr ? file->filled.find(r.offset) : decltype(file->filled.end()){};
        if (file == nullptr || part == file->filled.end()) return false;
        file->pieces.erase(file->pieces.lower_bound(r.offset), file->pieces.lower_bound(r.offset + part->second));
        file->filled.erase(part);
        return true;
    }
    bool operator()(const job_record::FileNamed& r) {
        const JobImage::SharedFile* const file = find(r.temporary);
        if (file == nullptr) return false;
        image_.named[r.temporary] = {file->size, file->mtime};
        return image_.files.erase(r.temporary) > 0;
    }
    bool operator()(const job_record::ShardState& r) {
        if (r.index >= image_.shards.size()) return false;
        image_.shards[static_cast<std::size_t>(r.index)] = r.state;
        for (auto& [temporary, file] : image_.files) file.writers.erase(r.index);
        return true;
    }

    bool operator()(const job_record::Top& r) {
        image_.tops[r.name] = r.made;
        return image_.has_head;
    }

  private:
    [[nodiscard]] JobImage::SharedFile* find(std::uint64_t temporary) {
        const auto at = image_.files.find(temporary);
        return at == image_.files.end() ? nullptr : &at->second;
    }
    JobImage& image_;
};

}  // namespace

void append_job_record(std::vector<std::byte>& out, std::uint64_t offset, const JobRecord& record) {
    std::array<std::byte, kMaxRecordBytes> body_bytes;
    Writer body(body_bytes);
    [[maybe_unused]] const bool fits = std::visit([&](const auto& r) { return put_job(body, r); }, record);
    assert(fits && "a record beyond its bounds");
    append_framed(out, offset, body.written());
}

FileRange JobImage::SharedFile::first_gap() const {
    std::uint64_t to = 0;
    for (const auto& [offset, length] : filled) {
        if (offset > to) return {to, offset - to};
        to = std::max(to, offset + length);
    }
    return {to, size - std::min(to, size)};
}

std::size_t JobImage::done() const {
    using State = job_record::ShardState::State;
    return static_cast<std::size_t>(
        std::ranges::count_if(shards, [](const auto& shard) { return shard.value_or(State::begun) != State::begun; }));
}

std::size_t JobImage::read(std::span<const std::byte> bytes, std::uint64_t offset) {
    JobReplay replay(*this);
    std::size_t read = 0;
    while (const auto body = framed_at(bytes.subspan(read), offset + read)) {
        const auto record = parse_job_record(*body);
        if (!record || !std::visit(replay, *record)) break;
        read += framed_bytes(*body);
    }
    return read;
}

}  // namespace udtx::transfer
