#include "transfer/landing/temp_file.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
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
#include <utility>

#include "base/chunk.hpp"
#include "base/state_access.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kHoleBlock = 4096;
constexpr std::size_t kCopyBlock = 256U << 10U;
constexpr int kCreate = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
constexpr int kReopen = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// With the rest of a temporary name, this is below the smallest limit of any disk.
constexpr std::size_t kTrialBytes = 96;

/// The first bytes of a name, at most `bytes`. UTF-8 characters stay whole.
std::string beginning_of(const std::string& name, std::size_t bytes) {
    const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80U; };
    if (name.size() <= bytes) return name;
    while (bytes > 0 && is_inside(bytes)) --bytes;
    return name.substr(0, bytes);
}

/// Sets the mode that the umask left, without the rights that were only lent.
int take_back(int fd, mode_t lent) {
    struct stat st = {};
    if (::fstat(fd, &st) != 0) return errno;
    const mode_t mode = st.st_mode & mode_bits::kPermissions & ~lent;
    return again([&] { return ::fchmod(fd, mode); }) == 0 ? 0 : errno;
}

Result<void> set_size(int fd, const std::string& path, std::uint64_t size) {
    if (set_length(fd, static_cast<off_t>(size)) == 0) return {};
    const int failed = errno;
    // Some file systems extend a file only if its last byte is written.
    struct stat st = {};
    const bool shorter = ::fstat(fd, &st) == 0 && static_cast<std::uint64_t>(st.st_size) < size;
    const std::array<std::byte, 1> zero{};
    if (shorter && write_all_at(fd, zero, size - 1) == 0) return {};
    return io_error("cannot set the size of", path, failed);
}

/// Sets owner, mode and time. `lent`: rights that the owner had only until now, if the mode is up to the umask.
void set_belongings(int fd, const FileAttributes& attributes, mode_t lent, const OnUnset& unset) {
    const auto check = [&](Belonging what, int failed) {
        if (failed != 0) unset(what, failed);
        return failed;
    };
    // The owner comes first: changing it clears set-user-ID and set-group-ID bits.
    const bool owned = !attributes.owner || check(Belonging::owner, transfer::set_owner(fd, *attributes.owner)) == 0;
    if (attributes.exact_mode) {
        // If the owner could not be set, the file must not grant the wrong owner's rights through these bits.
        const std::uint32_t mode = owned ? attributes.mode : attributes.mode & mode_bits::kPermissions;
        const int failed = set_mode(fd, mode);
        check(Belonging::mode, failed == 0 && mode != attributes.mode ? EPERM : failed);
    } else if (lent != 0) {
        check(Belonging::mode, take_back(fd, lent));
    }
    if (attributes.set_mtime) check(Belonging::time, set_file_time(fd, attributes.mtime));
}

/// The rights that a file which somebody else created was lent, as far as its mode tells.
mode_t lent_for(const FileAttributes& attributes) { return ~attributes.mode & mode_bits::kOwnerReadWrite; }

#ifdef __linux__
/// True if the file system is in memory. A reservation there allocates all pages at once and delays the writes.
bool is_in_memory(int fd) {
    struct statfs system = {};
    return ::fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}
#endif

}  // namespace

int try_rename(int directory, const std::string& from, const std::string& to) {
    const auto rename = [&](const std::string& old, const std::string& next) {
        return again([&] { return ::renameat(directory, old.c_str(), directory, next.c_str()); }) == 0 ? 0 : errno;
    };
    if (const int error = rename(from, to); error != 0) return error;
    const int error = rename(to, from);
    if (error != 0) ::unlinkat(directory, to.c_str(), 0);
    return error;
}

int vacate(int directory, const std::string& temporary) {
    if (::unlinkat(directory, temporary.c_str(), 0) == 0 || errno == ENOENT) return 0;
    const int error = errno;
    struct stat st = {};
    const bool moves = ::fstatat(directory, temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    if (!moves) return error;
    const std::string aside = temp_name(random_number());
    return again([&] { return ::renameat(directory, temporary.c_str(), directory, aside.c_str()); }) == 0 ? 0 : errno;
}

Result<TempFile> TempFile::create(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                  const FileAttributes& attributes, Existing existing) {
    SplitName split = split_leaf(path);
    auto [directory, error] = root.open_directory(split.directory);
    if (!directory) return io_error("cannot create", path, error);
    const mode_t mode = attributes.exact_mode ? 0600 : attributes.mode & mode_bits::kPermissions;
    std::string temporary = temp_name(unique);
    UniqueFd fd(open_entry(directory.get(), temporary.c_str(), kCreate, mode));
    if (!fd && errno == EEXIST && existing == Existing::replace) {
        if (error = vacate(directory.get(), temporary); error != 0) {
            return io_error("cannot remove what an earlier run left of '" + escape_name(path) + "',",
                            path_in(split.directory, temporary), error);
        }
        fd.reset(open_entry(directory.get(), temporary.c_str(), kCreate, mode));
    }
    if (!fd) return io_error("cannot create", path, errno);
    TempFile file(std::move(fd), std::move(split.directory), std::move(temporary), std::move(split.leaf));
    struct stat st = {};
    // Until the file is complete, its owner may read and write it: it may have to be opened again.
    error = file.look(st);
    if (error == 0) error = lend_owner_rights(file.fd_.get(), st, file.lent_);
    if (error != 0) {
        ::unlinkat(directory.get(), file.temporary_.c_str(), 0);
        return io_error("cannot create", path, error);
    }
    return file;
}

Result<TempFile> TempFile::adopt(const ConfinedDir& root, const std::string& path, std::uint64_t unique) {
    SplitName split = split_leaf(path);
    auto [directory, error] = root.open_directory(split.directory);
    if (!directory) return io_error("cannot continue", path, error);
    std::string temporary = temp_name(unique);
    UniqueFd fd(open_entry(directory.get(), temporary.c_str(), kReopen));
    if (!fd) return io_error("cannot continue", path, errno);
    if (!is_adoptable(fd.get())) return io_error("cannot continue", path, EPERM);
    TempFile file(std::move(fd), std::move(split.directory), std::move(temporary), std::move(split.leaf));
    file.content_ = Content::adopted;
    return file;
}

Result<TempFile> TempFile::share(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                 const FileAttributes& attributes, Missing missing, bool& fresh) {
    auto file = missing == Missing::create ? create(root, path, unique, attributes) : adopt(root, path, unique);
    fresh = missing == Missing::create && file.ok();
    if (missing == Missing::create && !fresh && file.error().system_error == EEXIST) {
        file = adopt(root, path, unique);
        if (!file) {
            Error failed = file.error();
            failed.message +=
                " (its unfinished file '" + temp_name(unique) +
                "' is a link, has a second name or is another user's: delete it, and run all shards again)";
            return failed;
        }
    }
    if (file) file->shared_ = true;
    return file;
}

bool TempFile::is_adoptable(int fd) {
    struct stat st = {};
    return ::fstat(fd, &st) == 0 && unlike_own(st) == 0;
}

Error TempFile::error(std::string_view what, int error_number) const {
    return io_error(what, directory_.empty() ? name_ : directory_ + '/' + name_, error_number);
}

Error TempFile::no_room(int error_number) const {
    Error out = error("no room for", error_number);
    out.message += " (at the receiver: delete something)";
    return out;
}

Result<void> TempFile::try_name(const ConfinedDir& root) const {
    auto [directory, failed] = root.open_directory(directory_);
    if (!directory) return error("cannot create", failed);
    struct stat st = {};
    if (::fstatat(directory.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return {};
    if (errno != ENOENT) return error("cannot create", errno);
    const std::string trial = "." + beginning_of(name_, kTrialBytes) + temporary_;
    failed = try_rename(directory.get(), temporary_, trial);
    return failed == 0 ? Result<void>() : error("cannot create", failed);
}

Result<void> TempFile::try_commit(const ConfinedDir& root) const {
    const int unsynced = sync_data(fd_.get());
    if (unsynced != 0 && !knows_no_sync(unsynced)) return error("cannot write", unsynced);
    auto [directory, failed] = root.open_directory(directory_);
    if (directory) failed = try_rename(directory.get(), temporary_, "." + temporary_);
    return failed == 0 ? Result<void>() : error("cannot finish", failed);
}

Result<void> TempFile::charge(const struct stat& st, std::uint64_t bytes, const std::shared_ptr<DiskQuota>& quota) {
    if (!charge_) charge_ = std::make_unique<DiskQuota::Charge>(quota, st, content_ == Content::adopted, shared_);
    if (charge_->grow(bytes)) return {};
    return error("no room in the key's quota (at the receiver: delete something, or raise the quota) for", EDQUOT);
}

Result<void> TempFile::find_room(std::uint64_t bytes, const LandingOptions& limits, std::uint64_t more) {
    struct statvfs system = {};
    struct stat st = {};
    if (::fstat(fd_.get(), &st) != 0) return {};
    const std::uint64_t held = static_cast<std::uint64_t>(st.st_blocks) * 512;
    bytes = std::max(bytes, held + more);
    if (limits.quota) {
        if (auto charged = charge(st, bytes, StateAccess::of(*limits.quota)); !charged) return charged;
    }
    if (::fstatvfs(fd_.get(), &system) != 0 || system.f_blocks == 0) return {};  // the size is unknown
    const std::uint64_t spare = limits.min_free;
    const std::uint64_t missing = bytes - held;
    const std::uint64_t blocks = ::geteuid() == 0 ? system.f_bfree : system.f_bavail;
    const std::uint64_t free = blocks * system.f_frsize;
    if (missing <= free && (spare == 0 || spare <= free - missing)) return {};
    if (missing > free) return no_room(ENOSPC);
    Error spared = error("--min-free leaves no room for", ENOSPC);
    spared.message += " (at the receiver: delete something, or lower --min-free)";
    return spared;
}

Result<void> TempFile::reserve(std::uint64_t bytes) {
#ifdef __linux__
    if (bytes == 0 || is_in_memory(fd_.get())) return {};
    // KEEP_SIZE: an incomplete file must not look complete by its size.
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return {};
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) return no_room(errno);
#else
    static_cast<void>(bytes);
#endif
    return {};
}

void TempFile::give_back_space(const ConfinedDir& root) const {
    // Blocks beyond the end of a file are freed if its length is set, also to what it is.
    const UniqueFd again = fd_ ? UniqueFd() : open_again(root);
    const int fd = fd_ ? fd_.get() : again.get();
    struct stat st = {};
    if (fd >= 0 && ::fstat(fd, &st) == 0) static_cast<void>(set_length(fd, st.st_size));
}

Result<void> TempFile::clear(std::uint64_t offset, std::uint64_t length) {
    note_written();
#ifdef __linux__
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, static_cast<off_t>(offset),
                    static_cast<off_t>(length)) == 0) {
        return {};
    }
#endif
    const std::vector<std::byte> zeros(64U << 10U);
    // Beyond its end the file has no data.
    struct stat st = {};
    if (::fstat(fd_.get(), &st) != 0) return error("cannot write", errno);
    const std::uint64_t size = std::max(offset, static_cast<std::uint64_t>(st.st_size));
    length = std::min(length, size - offset);
    while (length > 0) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, zeros.size()));
        if (auto written = write(offset, std::span(zeros).first(n)); !written) return written;
        offset += n;
        length -= n;
    }
    return {};
}

Result<void> TempFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (const int failed = write_all_at(fd_.get(), bytes, offset); failed != 0) return error("cannot write", failed);
    written_end_ = std::max(written_end_, offset + bytes.size());
    note_written();
    return {};
}

Result<void> TempFile::write_sparse(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (has_old_content()) return write(offset, bytes);
    const auto block_at = [&](std::size_t at) {
        const std::size_t to_boundary = kHoleBlock - static_cast<std::size_t>((offset + at) % kHoleBlock);
        return bytes.subspan(at, std::min(to_boundary, bytes.size() - at));
    };
    const auto is_zero = [](std::span<const std::byte> block) {
        return std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; });
    };
    note_written();
    for (std::size_t at = 0; at < bytes.size();) {
        std::size_t end = at;
        while (end < bytes.size() && !is_zero(block_at(end))) end += block_at(end).size();
        if (end > at) {
            if (auto written = write(offset + at, bytes.subspan(at, end - at)); !written) return written;
        }
        while (end < bytes.size() && is_zero(block_at(end))) end += block_at(end).size();
        at = end;
    }
    return {};
}

bool TempFile::clone(int from) {
    if (content_ != Content::nothing) return false;
    content_ = Content::own;
#ifdef FICLONE
    if (::ioctl(fd_.get(), FICLONE, from) == 0) content_ = Content::cloned;
#else
    static_cast<void>(from);
#endif
    return content_ == Content::cloned;
}

int TempFile::copy_range(int from, const Extent& extent) {
    auto in = static_cast<off_t>(extent.offset);
    auto out = in;
    std::uint64_t left = extent.length;
#ifdef __linux__
    while (left > 0) {
        const ssize_t n = ::copy_file_range(from, &in, fd_.get(), &out, static_cast<std::size_t>(left), 0);
        if (n <= 0) break;  // not possible between these two files: copy by hand
        left -= static_cast<std::uint64_t>(n);
    }
#endif
    const PageBlock block = left > 0 ? make_page_block(kCopyBlock) : nullptr;
    while (left > 0) {
        const auto room = std::span(block.get(), static_cast<std::size_t>(std::min<std::uint64_t>(left, kCopyBlock)));
        const std::uint64_t at = extent.offset + extent.length - left;
        std::size_t got = 0;
        if (const int failed = read_all_at(from, room, at, got); failed != 0) return failed;
        if (got < room.size()) return EIO;
        if (const int failed = write_all_at(fd_.get(), room, at); failed != 0) return failed;
        left -= got;
    }
    return 0;
}

Result<void> TempFile::copy_from(int from, const Extent& extent) {
    if (content_ != Content::cloned && !clone(from)) {
        if (const int failed = copy_range(from, extent); failed != 0) return error("cannot copy into", failed);
    }
    written_end_ = std::max(written_end_, extent.offset + extent.length);
    return {};
}

Result<void> TempFile::complete(std::uint64_t size, const FileAttributes& attributes, const OnUnset& unset) {
    if (has_old_content() || written_end_ != size) {
        if (auto sized = set_size(fd_.get(), path_in(directory_, name_), size); !sized) return sized;
    }
    set_belongings(fd_.get(), attributes, content_ == Content::adopted ? lent_for(attributes) : lent_, unset);
    return {};
}

Result<void> TempFile::complete(int fd, const std::string& path, std::uint64_t size, const FileAttributes& attributes,
                                const OnUnset& unset) {
    if (auto sized = set_size(fd, path, size); !sized) return sized;
    set_belongings(fd, attributes, lent_for(attributes), unset);
    return {};
}

int TempFile::look(struct stat& st) {
    if (::fstat(fd_.get(), &st) != 0) return errno;
    is_ = FileId::of(st);
    return 0;
}

int TempFile::set_attributes(const std::vector<message::Attribute>& attributes) {
    return write_attributes(fd_.get(), attributes);
}

void TempFile::rest() {
    if (!fd_) return;
    struct stat st = {};
    static_cast<void>(look(st));
    rest_error_ = fd_.close();
}

Result<void> TempFile::reopen(const ConfinedDir& root) {
    if (rest_error_ != 0) return error("cannot write", rest_error_);
    auto [directory, failed] = root.open_directory(directory_);
    if (!directory) return error("cannot open again", failed);
    UniqueFd fd(open_entry(directory.get(), temporary_.c_str(), kReopen));
    struct stat st = {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return error("cannot open again", errno);
    if (is_ != FileId::of(st)) return error("another file took the place of", ESTALE);
    fd_ = std::move(fd);
    return {};
}

CommitOrder TempFile::into_commit(std::uint64_t index, std::uint64_t size, bool holes) {
    struct stat st = {};
    if (fd_ && (charge_ || !is_) && look(st) == 0 && charge_) {
        // Some file systems count blocks only when they have been written out.
        charge_->settle(std::max(static_cast<std::uint64_t>(st.st_blocks) * 512, holes ? 0 : size));
    }
    charge_.reset();
    CommitOrder commit;
    commit.is = is_;
    commit.index = index;
    commit.directory = std::move(directory_);
    commit.temporary = std::move(temporary_);
    commit.name = std::move(name_);
    commit.fd = std::move(fd_);
    commit.size = commit.length = size;
    return commit;
}

UniqueFd TempFile::open_again(const ConfinedDir& root) const {
    const UniqueFd directory = root.open_directory(directory_).fd;
    return UniqueFd(directory ? open_entry(directory.get(), temporary_.c_str(), kReopen) : -1);
}

void TempFile::remove(const ConfinedDir& root) {
    const UniqueFd directory = root.open_directory(directory_).fd;
    if (directory) remove_from(directory.get(), temporary_);
    if (charge_) charge_->settle(0);
    charge_.reset();
    fd_.reset();
}

}  // namespace udtx::transfer
