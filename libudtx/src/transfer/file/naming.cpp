#include "transfer/file/naming.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

#ifdef __linux__
constexpr long kXfs = 0x58465342;
constexpr long kF2fs = static_cast<long>(0xF2F52010UL);
constexpr long kBtrfs = static_cast<long>(0x9123683EUL);
/// File systems of Linux itself that keep names. FUSE, network file systems and those of other operating systems may
/// change names.
constexpr std::array<long, 6> kOwn{EXT4_SUPER_MAGIC, kXfs, kBtrfs, kF2fs, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
constexpr unsigned kFoldsCase = 0x40000000;  // FS_CASEFOLD_FL

/// xfs_fsop_geom_v1 up to its flags; the rest is padding.
struct XfsGeometry {
    std::array<char, 32 + 32 + 16 + 12> before{};
    std::uint32_t flags = 0;
    std::array<char, 16> after{};
};
static_assert(sizeof(XfsGeometry) == 112);
constexpr std::uint32_t kXfsFoldsCase = 1U << 13U;

bool folds_case(int directory, long type) {
    if (type == kXfs) {
        XfsGeometry geometry;
        return ::ioctl(directory, _IOR('X', 100, XfsGeometry), &geometry) != 0 || (geometry.flags & kXfsFoldsCase) != 0;
    }
    unsigned flags = 0;
    return ::ioctl(directory, FS_IOC_GETFLAGS, &flags) == 0 && (flags & kFoldsCase) != 0;
}
#endif

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// U+0300 to U+036F in UTF-8: an accent on the preceding letter.
bool is_accent(std::string_view rest) {
    if (rest.size() < 2) return false;
    const auto first = static_cast<unsigned char>(rest[0]);
    const auto second = static_cast<unsigned char>(rest[1]);
    return first == 0xCC || (first == 0xCD && second <= 0xAF);
}

}  // namespace

bool keeps_names(int directory) {
#ifdef __linux__
    struct statfs system = {};
    if (::fstatfs(directory, &system) != 0) return false;
    const auto type = static_cast<long>(system.f_type);
    return std::find(kOwn.begin(), kOwn.end(), type) != kOwn.end() && !folds_case(directory, type);
#else
    static_cast<void>(directory);
    return false;
#endif
}

int look_at_entry(int directory, const char* name, EntryFacts& facts, Look look) {
#if defined(__linux__) && defined(AT_STATX_FORCE_SYNC)
    struct statx found = {};
    const int flags = AT_SYMLINK_NOFOLLOW | (look == Look::fresh ? AT_STATX_FORCE_SYNC : 0);
    if (::statx(directory, name, flags, STATX_BASIC_STATS, &found) == 0) {
        facts = {(static_cast<std::uint64_t>(found.stx_dev_major) << 32U) | found.stx_dev_minor,
                 found.stx_ino,
                 static_cast<mode_t>(found.stx_mode & S_IFMT),
                 found.stx_size,
                 found.stx_mtime.tv_sec,
                 found.stx_mtime.tv_nsec,
                 found.stx_nlink};
        return 0;
    }
    return errno;
#else
    static_cast<void>(look);
    struct stat found = {};
    if (::fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    facts = {static_cast<std::uint64_t>(found.st_dev),
             static_cast<std::uint64_t>(found.st_ino),
             static_cast<mode_t>(found.st_mode & S_IFMT),
             static_cast<std::uint64_t>(found.st_size),
             found.st_mtim.tv_sec,
             static_cast<std::uint32_t>(found.st_mtim.tv_nsec),
             static_cast<std::uint32_t>(found.st_nlink)};
    return 0;
#endif
}

std::uint64_t rough_name(std::string_view name) {
    std::string rough;
    bool letter = false;  // the preceding character was one
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (letter && is_accent(name.substr(i))) rough.pop_back();
        letter = is_letter(c);
        if (letter) rough += static_cast<char>(c | 0x20);
        if (is_digit(c)) rough += c;
    }
    return path_key(rough);
}

}  // namespace udtx::transfer
