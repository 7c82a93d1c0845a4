#include "transfer/temp_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transfer/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

Result<TempFile> TempFile::create(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                  const FileAttributes& attributes) {
    SplitName split = split_leaf(path);
    int error = 0;
    UniqueFd directory = root.open_directory(split.directory, error);
    if (!directory) return io_error("cannot create", path, error);
    // The owner's right to write comes from the open descriptor, so that even mode 0400 can be created at once.
    const auto mode = static_cast<mode_t>(attributes.exact_mode ? 0600 : attributes.mode & 0777U);
    std::string temporary = temp_name(split.leaf, unique);
    UniqueFd fd(
        ::openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!fd) return io_error("cannot create", path, errno);
    return TempFile(std::move(fd), std::move(split.directory), std::move(temporary), std::move(split.leaf));
}

Error TempFile::error(const char* what, int error_number) const {
    return io_error(what, directory_.empty() ? name_ : directory_ + '/' + name_, error_number);
}

Result<void> TempFile::reserve(std::uint64_t bytes) {
#ifdef __linux__
    if (bytes == 0) return {};
    // KEEP_SIZE: a file that is given up midway must not look complete by its size.
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return {};
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) return error("no room for", errno);
#else
    static_cast<void>(bytes);
#endif
    return {};
}

Result<void> TempFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (const int failed = write_all_at(fd_.get(), bytes, offset); failed != 0) return error("cannot write", failed);
    written_end_ = std::max(written_end_, offset + bytes.size());
    return {};
}

Result<void> TempFile::complete(std::uint64_t size, const FileAttributes& attributes) {
    if (written_end_ != size && ::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
        return error("cannot set the size of", errno);
    }
    if (attributes.exact_mode && ::fchmod(fd_.get(), static_cast<mode_t>(attributes.mode & 0777U)) != 0) {
        return error("cannot set the mode of", errno);
    }
    const int failed = attributes.set_mtime ? set_file_time(fd_.get(), attributes.mtime_ns) : 0;
    return failed == 0 ? Result<void>() : error("cannot set the time of", failed);
}

Commit TempFile::into_commit(std::uint64_t index, std::uint64_t size) {
    Commit commit;
    commit.index = index;
    commit.directory = std::move(directory_);
    commit.temporary = std::move(temporary_);
    commit.name = std::move(name_);
    commit.fd = std::move(fd_);
    commit.size = size;
    return commit;
}

void TempFile::remove(const ConfinedDir& root) {
    int ignored = 0;
    const UniqueFd directory = root.open_directory(directory_, ignored);
    if (directory) ::unlinkat(directory.get(), temporary_.c_str(), 0);
    fd_.reset();
}

}  // namespace udtx::transfer
