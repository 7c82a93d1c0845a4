#include "transfer/source/extent_cursor.hpp"

#include <sys/stat.h>
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

#include "transfer/file/pieces.hpp"

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

}  // namespace udtx::transfer
