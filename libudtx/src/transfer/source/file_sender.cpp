#include "transfer/source/file_sender.hpp"

#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

using Extents = std::vector<Extent>;

std::uint64_t size_of(const struct stat& st) { return static_cast<std::uint64_t>(st.st_size); }

std::uint64_t allocated(const struct stat& st) { return static_cast<std::uint64_t>(st.st_blocks) * 512; }

#ifdef SEEK_DATA

// A list of more extents than this is not worth its memory: so much data is soon read.
constexpr std::size_t kMaxExtents = 1U << 18U;
// File systems allocate at least this at once.
constexpr std::uint64_t kAllocationUnit = 4096;
// Time after which every file system has written data out and knows its blocks, with some room for a clock that
// differs.
constexpr std::int64_t kSettledSeconds = 300;

/// Where the file system says that data is; nullopt: it cannot tell.
std::optional<Extents> told_extents(int fd, std::uint64_t size) {
    Extents out;
    for (std::uint64_t at = 0; at < size;) {
        const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
        if (data < 0 && errno == ENXIO) break;  // only a hole follows
        if (data < static_cast<off_t>(at) || out.size() == kMaxExtents) return std::nullopt;
        if (static_cast<std::uint64_t>(data) >= size) break;
        const off_t hole = ::lseek(fd, data, SEEK_HOLE);
        if (hole <= data) return std::nullopt;
        const auto begin = static_cast<std::uint64_t>(data);
        at = std::min(static_cast<std::uint64_t>(hole), size);
        out.push_back({begin, at - begin});
    }
    return out;
}

/// True if all that is allocated is in `data`.
bool has_all_blocks(const Extents& data, const struct stat& st) {
    std::uint64_t found = 0;
    for (const Extent& extent : data) found += extent.length;
    // The last block is allocated as a whole.
    const bool to_the_end = !data.empty() && data.back().offset + data.back().length == size_of(st);
    const std::uint64_t beyond = size_of(st) % kAllocationUnit;
    if (to_the_end && beyond > 0) found += kAllocationUnit - beyond;
    return found >= allocated(st);
}

#ifdef FS_IOC_FIEMAP
/// True if all extents that the disk has for the file are in `data`. The blocks may be more then: those of the file
/// system's own lists, and those that are only reserved.
bool has_all_extents(int fd, const Extents& data, std::uint64_t size) {
    constexpr std::size_t kAtOnce = 128;
    alignas(struct fiemap) std::array<char, sizeof(struct fiemap) + kAtOnce * sizeof(struct fiemap_extent)> room{};
    auto& head = *reinterpret_cast<struct fiemap*>(room.data());
    auto in = data.begin();
    for (std::uint64_t at = 0; at < size;) {
        head = {};
        head.fm_start = at;
        head.fm_length = size - at;
        // Without this, reserved room that was written to and is not on disk yet looks like reserved room.
        head.fm_flags = FIEMAP_FLAG_SYNC;
        head.fm_extent_count = kAtOnce;
        if (::ioctl(fd, FS_IOC_FIEMAP, room.data()) != 0) return false;
        if (head.fm_mapped_extents == 0) return true;
        const std::uint64_t before = at;
        for (std::size_t i = 0; i < head.fm_mapped_extents; ++i) {
            struct fiemap_extent extent = {};
            std::memcpy(&extent, room.data() + sizeof head + i * sizeof extent, sizeof extent);
            const std::uint64_t begin = std::max<std::uint64_t>(extent.fe_logical, at);
            const std::uint64_t end = std::min<std::uint64_t>(extent.fe_logical + extent.fe_length, size);
            at = std::max(at, end);
            if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0 && begin < end) {
                while (in != data.end() && in->offset + in->length <= begin) ++in;
                if (in == data.end() || begin < in->offset || end > in->offset + in->length) return false;
            }
            if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return true;
        }
        if (at == before) return false;
    }
    return true;
}

/// True for file systems that count blocks and know holes from the moment of a write. Others, such as ZFS and those of
/// a network, may call a file a hole that was written a moment ago.
bool knows_at_once(int fd) {
    constexpr long kXfs = 0x58465342;
    constexpr long kF2fs = 0xF2F52010;
    struct statfs system = {};
    if (::fstatfs(fd, &system) != 0) return false;
    const auto type = static_cast<long>(system.f_type);
    return type == EXT4_SUPER_MAGIC || type == kXfs || type == BTRFS_SUPER_MAGIC || type == TMPFS_MAGIC ||
           type == kF2fs;
}
#else
bool has_all_extents(int /*fd*/, const Extents& /*data*/, std::uint64_t /*size*/) { return false; }
bool knows_at_once(int /*fd*/) { return false; }
#endif

bool is_settled(const struct stat& st) {
    // The time of modification can be set, and some file systems make up the other one.
    return std::max(st.st_mtim.tv_sec, st.st_ctim.tv_sec) + kSettledSeconds < std::time(nullptr);
}

#endif

/// The extents of a file's data, as far as they are beyond doubt.
std::optional<Extents> sure_extents(int fd, const struct stat& st) {
    const std::uint64_t size = size_of(st);
    if (!may_have_holes(st)) return Extents{{0, size}};
#ifdef SEEK_DATA
    auto told = told_extents(fd, size);
    const auto blocks_agree = [&] { return (is_settled(st) || knows_at_once(fd)) && has_all_blocks(*told, st); };
    if (told && (blocks_agree() || has_all_extents(fd, *told, size))) return told;
#endif
    return std::nullopt;
}

// Enough digests to be worth a message's header, and few enough for the receiver to verify while data flows.
constexpr std::size_t kDigestsPerMessage = 64;

}  // namespace

bool may_have_holes(const struct stat& st) noexcept { return allocated(st) < size_of(st); }

ExtentCursor::ExtentCursor(int fd, const struct stat& st, const Extent& range, PieceHasher& reader, Holes holes)
    : fd_(fd),
      reader_(&reader),
      at_(range.offset),
      end_(range.offset + range.length),
      data_(holes == Holes::as_told ? sure_extents(fd, st) : std::nullopt) {}

std::optional<Extent> ExtentCursor::next() {
    if (!data_) return next_read();
    for (; at_ < end_ && next_data_ < data_->size(); ++next_data_) {
        const Extent& data = (*data_)[next_data_];
        at_ = std::max(at_, data.offset);
        const std::uint64_t end = std::min(data.offset + data.length, end_);
        if (at_ >= end) continue;
        const Extent extent{at_, std::min(kSentExtentBytes, end - at_)};
        at_ += extent.length;
        return extent;
    }
    return std::nullopt;
}

std::optional<Extent> ExtentCursor::next_read() {
    if (at_ >= end_) return std::nullopt;
    // What cannot be read counts as data. Sending it tells the error.
    const auto is_zero = [this] { return reader_->is_zero(fd_, at_, block()).value_or(false); };
    const std::uint64_t limit = std::min(end_, at_ + kSentExtentBytes);
    while (at_ < limit && is_zero()) at_ += block();
    const std::uint64_t begin = at_;
    while (at_ < limit && !is_zero()) at_ += block();
    return Extent{begin, at_ - begin};
}

std::uint64_t ExtentCursor::block() const { return piece_length(at_, end_ - at_); }

void FileSender::begin(SourceFile file) {
    const std::uint64_t size = file.size();
    const bool sparse = may_have_holes(file.before);
    const bool whole = !file.entry.part && !sparse && size <= kSentExtentBytes && file.kept.none() && !file.query;
    const int fd = file.fd.get();
    ExtentCursor cursor(fd, file.before, file.range(), reader_);
    file_.emplace(Open{
        .source = std::move(file), .digest = FileDigest(hash_, size), .cursor = std::move(cursor), .whole = whole});
    const SourceFile& source = file_->source;
    message::Entry m;
    const auto limited = mode_without_list(fd, static_cast<std::uint32_t>(source.before.st_mode) & mode_bits::kAll);
    m.mode = limited.mode;
    m.mtime = mtime_of(source.before);
    m.size = size;
    m.sparse = sparse;
    m.whole = whole;
    m.part = source.entry.part;
    file_->index = announcer_.announce(std::move(m), source.entry.path);
    announcer_.note_limited(source.entry, source.entry.mode_error == 0 ? limited.error_number : 0);
    if (announcer_.tells_meta()) announcer_.send_meta(source.entry, fd, Announcer::Others::none);
    announcer_.begin(source.entry);
    if (!sparse && size > kPieceBytes) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
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
    const auto same = file.source.compare(announcer_);
    if (!same) return;
    file.comparing = false;
    if (*same && file.source.stands()) return end(FileStatus::kept);
    announcer_.sent_anyway(std::min(file.source.kept.same_until(), file.sent));
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
    announcer_.kept(done, std::min(done, kept.same_until() - std::min(kept.same_until(), range.offset)));
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
    file.again = SecondReading{.first = file.digest.finish(),
                               .digest = FileDigest(hash_, file.source.size()),
                               .at = file.source.range().offset,
                               .grew = grew()};
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
        announcer_.sent_whole(entry, file.sent);
    } else if (status == FileStatus::kept) {
        if (file.source.kept.has() == Holding::file) {
            announcer_.kept(entry.bytes(), 0);
        } else {
            announcer_.stands(entry);
        }
    } else {
        inquiries_.unreplaced().add(entry);
        if (status != FileStatus::skipped) {
            announcer_.fail(entry, status == FileStatus::changed ? Announcer::changed(entry)
                                                                 : io_error("cannot read", entry.path, file.error));
        } else if (file.source.kept.has() == Holding::exists) {
            announcer_.stands(entry);
        }
    }
    packer_.message(end);
    if (status == FileStatus::kept && announcer_.tells_meta()) {
        announcer_.send_meta(entry, file.source.fd.get(), Announcer::Others::go);
    }
    if (packer_.stopped()) return;  // the totals still include the unsent rest
    // Up to one piece may have been sent before the answer that the file exists: it does not count. If the receiver
    // gave up after more than that, the bytes count.
    const bool in_vain = (status == FileStatus::kept || status == FileStatus::skipped) && file.sent <= kPieceBytes;
    announcer_.end(entry, in_vain ? 0 : file.sent);
}

}  // namespace udtx::transfer
