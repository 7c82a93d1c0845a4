#include "transfer/source/file_sender.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"

namespace udtx::transfer {

namespace {

// Enough digests to be worth a message's header, and few enough for the receiver to verify while data flows.
constexpr std::size_t kDigestsPerMessage = 64;

}  // namespace

FileSender::FileSender(HashAlgorithm hash, PieceHasher& reader, OutgoingPacker& packer, EntryAnnouncer& announcer,
                       Inquiries& inquiries, SourceCounts& counts, UnreplacedNames& unreplaced)
    : hash_(hash),
      packer_(packer),
      announcer_(announcer),
      inquiries_(inquiries),
      counts_(counts),
      unreplaced_(unreplaced),
      reader_(reader),
      piece_hasher_(hash),
      root_(hash) {}

void FileSender::begin(SourceFile file) {
    const std::uint64_t size = file.size();
    const bool sparse = may_have_holes(file.before);
    const bool whole = !file.entry.part && !sparse && size <= kSentExtentBytes && file.kept.none() && !file.query;
    const int fd = file.fd.get();
    ExtentCursor cursor(fd, file.before, file.range(), reader_);
    file_.emplace(Open{std::move(file), FileDigest(hash_, size), std::move(cursor), whole});
    announce();
    if (!sparse && size > kPieceBytes) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void FileSender::announce() {
    const SourceFile& source = file_->source;
    message::Entry m;
    m.mode = mode_without_list(source.fd.get(), static_cast<std::uint32_t>(source.before.st_mode) & mode_bits::kAll);
    m.mtime = mtime_of(source.before);
    m.size = source.size();
    m.sparse = may_have_holes(source.before);
    m.whole = file_->whole;
    m.part = source.entry.part;
    file_->index = announcer_.announce(std::move(m), source.entry.path);
    if (announcer_.tells_meta()) announcer_.send_meta(source.entry, source.fd.get(), EntryAnnouncer::Others::none);
    counts_.begin(source.entry);
}

std::optional<DiskStep> FileSender::go_on() {
    const Open& file = *file_;
    if (file.again) {
        read_again();
    } else if (file.comparing) {
        compare();
    } else if (file.fresh.length > 0) {
        send_fresh();
    } else if (file.range.length == 0) {
        return begin_extent();
    } else if (file.source.query && file.sent > 0) {
        return await_holding();
    } else {
        send_range();
    }
    return std::nullopt;
}

std::optional<DiskStep> FileSender::begin_extent() {
    Open& file = *file_;
    const auto extent = file.cursor.next();
    if (!extent) {
        // A receiver that has the whole file says so. The file must then not be reported as sent as well.
        if (file.source.query) return await_holding();
        check_read();
    } else if (skip_.load(std::memory_order_relaxed) == file.index && !file.whole) {
        end(FileStatus::skipped);
    } else if (file.whole) {
        will_send(*extent);
    } else {
        file.range = *extent;
    }
    return std::nullopt;
}

std::optional<DiskStep> FileSender::await_holding() {
    if (!inquiries_.knows_answer(file_->source.query)) {
        packer_.flush();
        return DiskStep::rest();
    }
    learn_holding();
    return std::nullopt;
}

void FileSender::learn_holding() {
    SourceFile& source = file_->source;
    source.kept.learn(inquiries_.take_holding(*std::exchange(source.query, std::nullopt)));
    switch (source.kept.has()) {
        case Holding::exists:
        case Holding::blocked:
            return end(FileStatus::skipped);
        case Holding::same:
        case Holding::file:
            return end(FileStatus::kept);
        default:
            file_->comparing = source.may_be_same();
    }
}

void FileSender::compare() {
    Open& file = *file_;
    const std::uint64_t before = file.source.kept.same_until();
    const auto same = file.source.compare();
    const std::uint64_t until = file.source.kept.same_until();
    counts_.compared(until - before);
    if (!same) return;
    file.comparing = false;
    if (*same && file.source.stands()) return end(FileStatus::kept);
    counts_.sent_anyway(std::min(until, file.sent));
}

void FileSender::send_range() {
    Open& file = *file_;
    Extent& range = file.range;
    const std::uint64_t kept = leave_out(range);
    const std::uint64_t first = file.source.query ? piece_length(range.offset, range.length) : range.length;
    const std::uint64_t fresh = kept > 0 ? 0 : file.source.kept.fresh_run({range.offset, first});
    if (fresh > 0) {
        packer_.message(message::Extents{file.index, {{range.offset, fresh}}});
        will_send({range.offset, fresh});
    }
    range.offset += kept + fresh;
    range.length -= kept + fresh;
}

std::uint64_t FileSender::leave_out(const Extent& range) {
    KeptPieces& kept = file_->source.kept;
    const auto run = kept.take_run(file_->source.fd.get(), range);
    if (run.empty()) return 0;
    const std::uint64_t done = run.back().offset + run.back().length - range.offset;
    packer_.message(message::Kept{file_->index, {{range.offset, done}}});
    for (const ProvenPiece& piece : run) add_digest(piece);
    counts_.kept(done, std::min(done, kept.same_until() - std::min(kept.same_until(), range.offset)));
    return done;
}

void FileSender::will_send(const Extent& extent) {
    file_->sent += extent.length;
    data_bytes_ += extent.length;
    file_->fresh = extent;
}

void FileSender::send_fresh() {
    Extent& rest = file_->fresh;
    const std::uint64_t length = piece_length(rest.offset, rest.length);
    const FileStatus status = send_piece(rest.offset, length);
    rest.offset += length;
    rest.length -= length;
    if (status == FileStatus::ok) return;
    send_zeros(rest.length);
    end(status);
}

FileStatus FileSender::send_piece(std::uint64_t offset, std::uint64_t length) {
    Open& file = *file_;
    piece_hasher_.reset();
    std::uint64_t done = 0;
    while (done < length && !packer_.stopped()) {
        std::span<std::byte> room = packer_.space();
        room = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length - done)));
        std::size_t count = 0;
        file.error = read_all_at(file.source.fd.get(), room, offset + done, count);
        piece_hasher_.update(room.first(count));
        packer_.advance(count);
        done += count;
        if (count < room.size()) {
            send_zeros(length - done);
            return file.error != 0 ? FileStatus::unreadable : FileStatus::changed;
        }
    }
    add_digest({offset, length, piece_hasher_.finish()});
    return FileStatus::ok;
}

void FileSender::send_zeros(std::uint64_t length) {
    while (length > 0 && !packer_.stopped()) {
        const std::span<std::byte> room = packer_.space();
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length));
        std::memset(room.data(), 0, n);
        packer_.advance(n);
        length -= n;
    }
}

void FileSender::add_digest(const ProvenPiece& piece) {
    Open& file = *file_;
    file.digest.add(piece.offset, piece.length, piece.digest);
    file.digests.push_back(piece.digest);
    const bool joins = !file.read.empty() && file.read.back().offset + file.read.back().length == piece.offset;
    if (!joins) file.read.push_back({piece.offset, 0});
    file.read.back().length += piece.length;
    if (file.digests.size() == kDigestsPerMessage) flush_digests();
}

void FileSender::flush_digests() {
    Open& file = *file_;
    if (file.digests.empty()) return;
    const std::uint64_t first = std::exchange(file.first_unsent_digest, file.first_unsent_digest + file.digests.size());
    packer_.message(message::Digests{file.index, first, std::exchange(file.digests, {})});
}

void FileSender::check_read() {
    Open& file = *file_;
    struct stat now = {};
    bool stands = file.source.stands(now);
    const auto grew = [&] { return now.st_size > file.source.before.st_size; };
    if (!grew() && has_more()) {
        // It may have grown between the two looks.
        stands = file.error == 0 && file.source.stands(now);
        if (!grew()) return end(file.error != 0 ? FileStatus::unreadable : FileStatus::changed);
    }
    if (now.st_size < file.source.before.st_size) return end(FileStatus::changed);
    if (stands) return end(FileStatus::ok);
    // It may have grown only, or not at all: some file systems show the times of one replica or the other.
    file.again = SecondReading{file.digest.finish(), FileDigest(hash_, file.source.size()), file.source.range().offset,
                               0, grew()};
}

bool FileSender::has_more() {
    // Some file systems (procfs, FUSE) report a wrong size. Data beyond it must not be dropped silently.
    std::array<std::byte, 1> beyond{};
    std::size_t count = 0;
    file_->error = read_all_at(file_->source.fd.get(), beyond, file_->source.size(), count);
    return file_->error != 0 || count > 0;
}

void FileSender::read_again() {
    Open& file = *file_;
    SecondReading& again = *file.again;
    const int fd = file.source.fd.get();
    const Extent range = file.source.range();
    const Extent next = again.next < file.read.size() ? file.read[again.next] : Extent{range.offset + range.length, 0};
    bool same = true;
    std::uint64_t length = 0;
    if (again.at < next.offset) {
        length = piece_length(again.at, next.offset - again.at);
        same = reader_.is_zero(fd, again.at, length).value_or(false);
    } else if (next.length > 0) {
        length = piece_length(again.at, next.offset + next.length - again.at);
        const auto digest = reader_.hash(fd, again.at, length);
        same = digest.has_value();
        if (same) again.digest.add(again.at, length, *digest);
    } else {
        return end_reading_again();
    }
    if (!same) return end(FileStatus::changed);
    again.at += length;
    if (next.length > 0 && again.at == next.offset + next.length) ++again.next;
}

void FileSender::end_reading_again() {
    SecondReading& again = *file_->again;
    const bool same = again.digest.finish() == again.first;
    if (same && again.grew) announcer_.note_grown(file_->source.entry);
    end(same ? FileStatus::ok : FileStatus::changed);
}

void FileSender::end(FileStatus status) {
    flush_digests();
    Open file = *std::exchange(file_, std::nullopt);
    const ScannedEntry& entry = file.source.entry;
    message::FileEnd end{file.index, status, {}};
    if (status == FileStatus::unreadable) end.error = static_cast<std::uint64_t>(file.error);
    if (status == FileStatus::ok) {
        end.digest = file.again ? file.again->first : file.digest.finish();
        root_.add(file.index, end.digest);
        counts_.sent_whole(entry, file.sent);
    } else if (status == FileStatus::kept) {
        if (file.source.kept.has() == Holding::file) {
            counts_.kept(entry.bytes(), 0);
        } else {
            counts_.stands(entry);
        }
    } else {
        unreplaced_.add(entry);
        if (status != FileStatus::skipped) {
            counts_.fail(entry, status, file.error);
        } else if (file.source.kept.has() == Holding::exists) {
            counts_.stands(entry);
        }
    }
    packer_.message(end);
    if (status == FileStatus::kept && announcer_.tells_meta()) {
        announcer_.send_meta(entry, file.source.fd.get(), EntryAnnouncer::Others::go);
    }
    if (packer_.stopped()) return;  // the totals still include the unsent rest
    // Up to one piece may have been sent before the answer that the file exists: it does not count. If the receiver
    // gave up after more than that, the bytes count.
    const bool in_vain = (status == FileStatus::kept || status == FileStatus::skipped) && file.sent <= kPieceBytes;
    counts_.end(entry, in_vain ? 0 : file.sent);
}

}  // namespace udtx::transfer
