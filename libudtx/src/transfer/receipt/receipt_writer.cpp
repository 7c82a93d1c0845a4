#include "transfer/receipt/receipt_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "base/release.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::transfer {
namespace {

constexpr std::size_t kBufferBytes = 256U << 10U;

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
    const Lock lock(mutex_);
    if (const auto* offer = std::get_if<message::Offer>(&message)) {
        hashes_.emplace(offer->hash);
        write(first_line(offer->hash));
        const auto& shard = offer->shard;
        if (shard) write(receipt_line("shard", shard->index, shard->count, shard->job, shard->split));
        return;
    }
    if (!hashes_) return;
    if (const auto* job = std::get_if<message::Job>(&message)) run_ = job->run;
    if (const auto* digests = std::get_if<message::Digests>(&message)) return add_digests(*digests);
    if (const auto* extents = std::get_if<message::Extents>(&message)) return announce(extents->extents);
    if (const auto* kept = std::get_if<message::Kept>(&message)) return announce(kept->extents);
    if (const auto* next = std::get_if<message::Entry>(&message)) return begin_entry(*next);
    if (const auto* failed = std::get_if<message::FileFailed>(&message)) failed_.push_back(failed->index);
    if (const auto* end = std::get_if<message::FileEnd>(&message)) {
        if (end->status == FileStatus::ok) end_file(end->index, end->digest);
        if (end->status == FileStatus::kept) kept_.push_back(file_);
    }
}

void ReceiptWriter::announce(const std::vector<Extent>& extents) {
    unhashed_.insert(unhashed_.end(), extents.begin(), extents.end());
}

void ReceiptWriter::begin_entry(const message::Entry& m) {
    if (m.path.empty()) return;  // it describes the destination itself
    ReceiptEntry entry;
    entry.index = m.index;
    entry.type = m.type;
    entry.path = join_path(m.path);
    entry.target = m.target;
    entry.size = m.size;
    entry.part = m.part;
    write(entry_line(entry));
    if (m.type != EntryType::file) return;
    file_ = std::move(entry);
    unhashed_.clear();
    if (m.whole && m.size > 0) unhashed_.push_back({0, m.size});
}

void ReceiptWriter::add_digests(const message::Digests& m) {
    for (const Digest& digest : m.digests) {
        if (unhashed_.empty()) return;  // the receiver's job ends such a transfer
        Extent& rest = unhashed_.front();
        const std::uint64_t length = piece_length(rest.offset, rest.length);
        write(piece_line({rest.offset, length, digest}));
        rest = {rest.offset + length, rest.length - length};
        if (rest.length == 0) unhashed_.pop_front();
    }
}

void ReceiptWriter::end_file(std::uint64_t index, const Digest& digest) {
    write(receipt_line("digest", digest));
    hashes_->root.add(index, digest);
}

Result<void> ReceiptWriter::hash_kept(const ReceiptEntry& kept, int fd) {
    PieceHasher hasher(hashes_->hash);
    FileDigest digest(hashes_->hash, kept.size);
    write(entry_line(kept));
    const FileRange bytes = kept.part.value_or(FileRange{0, kept.size});
    const std::uint64_t end = bytes.offset + bytes.length;
    for (std::uint64_t offset = bytes.offset; offset < end;) {
        const std::uint64_t length = piece_length(offset, end - offset);
        const auto piece = hasher.hash(fd, offset, length);
        if (!piece) return io_error("cannot read for the receipt", kept.path, hasher.error());
        digest.add(offset, length, *piece);
        write(piece_line({offset, length, *piece}));
        offset += length;
    }
    end_file(kept.index, digest.finish());
    return {};
}

Result<void> ReceiptWriter::finish(const OpenKept& open_kept) {
    const Lock lock(mutex_);
    if (!hashes_) return Error{ErrorCode::file_io, "there is nothing to write a receipt of"};
    for (const ReceiptEntry& kept : kept_) {
        const UniqueFd fd = open_kept(kept.path);
        if (!fd) return io_error("cannot open for the receipt", kept.path, errno);
        if (auto hashed = hash_kept(kept, fd.get()); !hashed) return hashed;
    }
    for (const std::uint64_t index : failed_) write(receipt_line("failed", index));
    if (run_ != 0) write(receipt_line("job", run_));
    if constexpr (kFuture) write(receipt_line("+future", std::uint64_t{kFutureField}));
    write(receipt_line("root", hashes_->root.finish()));
    // The last digest covers all lines but its own.
    buffer_ += receipt_line("end", hashes_->all.finish());
    write_out();
    if (error_ == 0) error_ = sync_data(output_.fd());
    if (knows_no_sync(error_)) error_ = 0;
    if (error_ == 0) error_ = output_.commit(written_);
    if (error_ != 0) return io_error("cannot write the receipt", output_.place().path, error_);
    return {};
}

void ReceiptWriter::write(std::string_view line) {
    buffer_ += line;
    hashes_->all.update(std::as_bytes(std::span(line)));
    if (buffer_.size() >= kBufferBytes) write_out();
}

void ReceiptWriter::write_out() {
    if (error_ == 0) error_ = write_all_at(output_.fd(), std::as_bytes(std::span(buffer_)), written_);
    written_ += buffer_.size();
    buffer_.clear();
}

Result<ReceiptFile> ReceiptFile::create(const std::string& path) {
    auto writer = ReceiptWriter::create(path);
    if (!writer) return writer.error();
    return ReceiptFile(std::move(*writer));
}

void ReceiptFile::discard() const noexcept { state_->discard(); }

}  // namespace udtx::transfer
