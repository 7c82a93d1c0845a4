#include "transfer/receipt/receipt_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {
namespace {

constexpr std::size_t kBufferBytes = 256U << 10U;

std::string piece_text(const ProvenPiece& piece) {
    return "piece\t" + std::to_string(piece.offset) + "\t" + std::to_string(piece.length) + "\t" + piece.digest.hex();
}

std::string shard_text(const JobShard& shard) {
    return "shard\t" + std::to_string(shard.index) + "\t" + std::to_string(shard.count) + "\t" +
           std::to_string(shard.job) + "\t" + std::to_string(shard.split);
}

}  // namespace

Result<std::unique_ptr<ReceiptWriter>> ReceiptWriter::create(std::string path) {
    const auto failed = [&](const std::string& why) {
        return Error{ErrorCode::file_io, "cannot write the receipt '" + escape_name(path) + "': " + why};
    };
    // The receipt replaces a regular file of that name, or the one that a link leads to. It never replaces a device or
    // pipe.
    auto place = OutputPlace::find(path);
    auto file = place ? NewVersion::create(std::move(*place)) : Result<NewVersion>(place.error());
    if (!file) return failed(file.error().message);
    return std::unique_ptr<ReceiptWriter>(new ReceiptWriter(std::move(*file)));
}

void ReceiptWriter::note(const Message& message) {
    const std::lock_guard lock(mutex_);
    if (const auto* offer = std::get_if<message::Offer>(&message)) {
        hashes_.emplace(offer->hash);
        line("udtx-receipt\t1\t" + std::string(to_string(offer->hash)));
        return offer->shard ? line(shard_text(*offer->shard)) : void();
    }
    if (!hashes_) return;
    if (const auto* job = std::get_if<message::Job>(&message)) run_ = job->run;
    if (const auto* digests_of_file = std::get_if<message::Digests>(&message)) return digests(*digests_of_file);
    if (const auto* extents = std::get_if<message::Extents>(&message)) return announce(extents->extents);
    if (const auto* kept = std::get_if<message::Kept>(&message)) return announce(kept->extents);
    if (const auto* next = std::get_if<message::Entry>(&message)) return entry(*next);
    if (const auto* end = std::get_if<message::FileEnd>(&message)) return end_file(*end);
    if (const auto* failed = std::get_if<message::FileFailed>(&message)) failed_.push_back(failed->index);
}

void ReceiptWriter::entry(const message::Entry& m) {
    if (m.path.empty()) return;  // it describes the destination itself
    const std::string path = join_path(m.path);
    switch (m.type) {
        case EntryType::directory:
            return line("dir\t" + std::to_string(m.index) + "\t" + escape_field(path));
        case EntryType::symlink:
            return line("link\t" + std::to_string(m.index) + "\t" + escape_field(path) + "\t" + escape_field(m.target));
        case EntryType::hard_link:
            return line("hard\t" + std::to_string(m.index) + "\t" + escape_field(path) + "\t" + escape_field(m.target));
        case EntryType::file:
            break;
    }
    file_ = m;
    unhashed_.clear();
    file_line({m.index, path, m.size, m.part});
    if (m.whole && m.size > 0) unhashed_.push_back({0, m.size});
}

void ReceiptWriter::announce(std::span<const Extent> extents) {
    unhashed_.insert(unhashed_.end(), extents.begin(), extents.end());
}

void ReceiptWriter::digests(const message::Digests& m) {
    for (const Digest& digest : m.digests) {
        if (unhashed_.empty()) return;  // the receiver's job ends such a transfer
        Extent& rest = unhashed_.front();
        const std::uint64_t length = piece_length(rest.offset, rest.length);
        line(piece_text({rest.offset, length, digest}));
        rest = {rest.offset + length, rest.length - length};
        if (rest.length == 0) unhashed_.pop_front();
    }
}

void ReceiptWriter::end_file(const message::FileEnd& m) {
    if (m.status == FileStatus::ok) return digest_line(m.index, m.digest);
    if (m.status == FileStatus::kept) kept_.push_back({file_.index, join_path(file_.path), file_.size, file_.part});
}

void ReceiptWriter::file_line(const Kept& file) {
    std::string text = file.part ? "part\t" : "file\t";
    text += std::to_string(file.index) + "\t" + escape_field(file.path) + "\t" + std::to_string(file.size);
    if (file.part) text += "\t" + std::to_string(file.part->offset) + "\t" + std::to_string(file.part->length);
    line(text);
}

void ReceiptWriter::digest_line(std::uint64_t index, const Digest& digest) {
    line("digest\t" + digest.hex());
    hashes_->root.add(index, digest);
}

Result<void> ReceiptWriter::hash_kept(const Kept& kept, int fd) {
    PieceHasher hasher(hashes_->hash);
    FileDigest digest(hashes_->hash, kept.size);
    file_line(kept);
    const FileRange bytes = kept.part.value_or(FileRange{0, kept.size});
    const std::uint64_t end = bytes.offset + bytes.length;
    for (std::uint64_t offset = bytes.offset; offset < end;) {
        const std::uint64_t length = piece_length(offset, end - offset);
        const auto piece = hasher.hash(fd, offset, length);
        if (!piece) return io_error("cannot read for the receipt", kept.path, hasher.error());
        digest.add(offset, length, *piece);
        line(piece_text({offset, length, *piece}));
        offset += length;
    }
    digest_line(kept.index, digest.finish());
    return {};
}

Result<void> ReceiptWriter::finish(const OpenKept& open_kept) {
    const std::lock_guard lock(mutex_);
    if (!hashes_) return Error{ErrorCode::file_io, "there is nothing to write a receipt of"};
    for (const Kept& kept : kept_) {
        const UniqueFd fd = open_kept(kept.path);
        if (!fd) return io_error("cannot open for the receipt", kept.path, errno);
        if (auto hashed = hash_kept(kept, fd.get()); !hashed) return hashed;
    }
    for (const std::uint64_t index : failed_) line("failed\t" + std::to_string(index));
    if (run_ != 0) line("job\t" + std::to_string(run_));
    line("root\t" + hashes_->root.finish().hex());
    // The last digest covers all lines but its own.
    buffer_ += "end\t" + hashes_->all.finish().hex() + "\n";
    write_out();
    if (error_ == 0) error_ = sync_data(output_.fd());
    if (knows_no_sync(error_)) error_ = 0;
    if (error_ == 0) error_ = output_.commit(written_);
    if (error_ != 0) return io_error("cannot write the receipt", output_.place().path, error_);
    return {};
}

void ReceiptWriter::line(std::string_view text) {
    const std::size_t from = buffer_.size();
    buffer_.append(text).push_back('\n');
    hashes_->all.update(std::as_bytes(std::span(buffer_).subspan(from)));
    if (buffer_.size() >= kBufferBytes) write_out();
}

void ReceiptWriter::write_out() {
    if (error_ == 0) error_ = write_all_at(output_.fd(), std::as_bytes(std::span(buffer_)), written_);
    written_ += buffer_.size();
    buffer_.clear();
}

}  // namespace udtx::transfer
