#include "transfer/shard/job_format.hpp"

#include <algorithm>
#include <utility>

#include "transfer/file/records.hpp"

namespace udtx::transfer {

namespace {

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
        image_.files[r.temporary] = {{join_path(r.path), r.size, r.mtime}};
        return image_.has_head;
    }
    bool operator()(const job_record::PartPiece& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        const bool fits = file != nullptr && lies_in(*file, r.piece.offset, r.piece.length) &&
                          r.piece.digest.bytes().size() == digest_bytes(image_.head.hash);
        if (fits) file->next_pieces[r.piece.offset] = r.piece;
        return fits;
    }
    bool operator()(const job_record::PartFilled& r) {
        JobImage::SharedFile* const file = find(r.temporary);
        if (file == nullptr || !lies_in(*file, r.part.offset, r.part.length)) return false;
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
        image_.named[r.temporary] = file->version;
        return image_.files.erase(r.temporary) > 0;
    }
    bool operator()(const job_record::ShardState& r) {
        if (r.index >= image_.shards.size()) return false;
        image_.shards[static_cast<std::size_t>(r.index)] = r.state;
        for (auto& [temporary, file] : image_.files) file.writers.erase(r.index);
        return true;
    }

    bool operator()(const job_record::Top& r) {
        image_.tops[r.path.front()] = r.made;
        return image_.has_head;
    }

  private:
    [[nodiscard]] static bool lies_in(const JobImage::SharedFile& file, std::uint64_t offset, std::uint64_t length) {
        return length > 0 && offset < file.version.size && length <= file.version.size - offset;
    }
    [[nodiscard]] JobImage::SharedFile* find(std::uint64_t temporary) {
        const auto at = image_.files.find(temporary);
        return at == image_.files.end() ? nullptr : &at->second;
    }
    JobImage& image_;
};

}  // namespace

FileRange JobImage::SharedFile::first_gap() const {
    std::uint64_t to = 0;
    for (const auto& [offset, length] : filled) {
        if (offset > to) return {to, offset - to};
        to = std::max(to, offset + length);
    }
    return {to, version.size - std::min(to, version.size)};
}

std::vector<ProvenPiece> JobImage::SharedFile::pieces_in(const FileRange& range) const {
    std::vector<ProvenPiece> out;
    const auto end = pieces.lower_bound(range.offset + range.length);
    for (auto piece = pieces.lower_bound(range.offset); piece != end; ++piece) out.push_back(piece->second);
    return out;
}

std::size_t JobImage::done() const {
    using State = job_record::ShardState::State;
    return static_cast<std::size_t>(
        std::ranges::count_if(shards, [](const auto& shard) { return shard.value_or(State::begun) != State::begun; }));
}

std::size_t JobImage::read(std::span<const std::byte> bytes, std::uint64_t offset) {
    return read_records<JobRecord>(bytes, offset, JobReplay(*this));
}

}  // namespace udtx::transfer
