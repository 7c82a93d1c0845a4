// A file under construction, beside its target and under a temporary name.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/file/belongings.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/commit_batch.hpp"
#include "transfer/landing/disk_quota.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// What the finished file is to have.
struct FileAttributes {
    std::uint32_t mode = 0666;
    std::optional<Owner> owner{};
    bool exact_mode = false;  ///< else `mode` is subject to the umask
    bool set_mtime = false;
    FileTime mtime{};
};

/// Whether `from` may be renamed in its directory, by doing so and back; 0 or an errno, and then it may be gone.
[[nodiscard]] int try_rename(int directory, const std::string& from, const std::string& to);

class TempFile {
  public:
    enum class Existing { refuse, replace };

    /// `path` below `root`. file_io: the directory cannot be opened (a symbolic link on the way, for one), no rights,
    /// no space; or the temporary file is there already, unless that is to be replaced.
    static Result<TempFile> create(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                   const FileAttributes& attributes, Existing existing = Existing::refuse);
    /// Continues a temporary file of an earlier run. file_io: there is none, or it is not a file of ours.
    static Result<TempFile> adopt(const ConfinedDir& root, const std::string& path, std::uint64_t unique);
    /// One that other processes fill as well: as it is, or a new one. `fresh`: it is new.
    static Result<TempFile> share(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                  const FileAttributes& attributes, bool& fresh);
    /// A file that adopt() takes: of two names, as a copy by hard links makes them, the other one's content is to stay.
    [[nodiscard]] static bool is_adoptable(int fd);
    TempFile(TempFile&&) noexcept = default;
    TempFile& operator=(TempFile&&) noexcept = default;

    /// Before all of a large file is sent in vain: the disk takes the characters and the length of its name, as far as
    /// that can be told without using it.
    Result<void> try_name(const ConfinedDir& root) const;
    /// file_io, ENOSPC or EDQUOT: the file would not fit with `bytes`, or with `more` than it holds, or not within the
    /// limits. A quota is charged with it from then on.
    [[nodiscard]] Result<void> find_room(std::uint64_t bytes, const RoomLimits& limits, std::uint64_t more = 0);
    /// Before something is taken away for it: its content is on the disk, and it can be renamed.
    Result<void> try_commit(const ConfinedDir& root) const;
    /// Reserves the space that is still missing up to `bytes`; errors only when there is none.
    Result<void> reserve(std::uint64_t bytes);
    /// Makes a part without data of a continued file read as zeros.
    Result<void> clear(std::uint64_t offset, std::uint64_t length);
    Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
    /// The same, but zeros become holes where nothing was before.
    Result<void> write_sparse(std::uint64_t offset, std::span<const std::byte> bytes);
    /// From another file, by sharing its blocks where the file system can.
    Result<void> copy_from(int from, const Extent& extent);
    /// A part that was not written may hold something.
    [[nodiscard]] bool has_old_content() const noexcept { return adopted_ || cloned_; }
    /// 0 or an errno.
    [[nodiscard]] int set_attributes(const std::vector<message::Attribute>& attributes);
    /// Full size (a hole at the end), owner, mode and time. The file is complete after that, whatever was `unset`.
    Result<void> complete(std::uint64_t size, const FileAttributes& attributes, const OnUnset& unset);
    /// The same of a file of that name that is open as `fd`.
    static Result<void> complete(int fd, const std::string& path, std::uint64_t size, const FileAttributes& attributes,
                                 const OnUnset& unset);
    /// As it stands on the disk now; 0 or an errno.
    [[nodiscard]] int look(struct stat& st);
    /// Hands the descriptor and the names over. `holes`: not all of its size may be on the disk.
    [[nodiscard]] Commit into_commit(std::uint64_t index, std::uint64_t size, bool holes);
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(fd_); }
    /// Gives the descriptor back; the file stays. What that met, reopen() or the commit says.
    void rest();
    /// After rest(). file_io: it cannot be opened, or is not the same file any more.
    Result<void> reopen(const ConfinedDir& root);
    void remove(const ConfinedDir& root);
    /// Another description of it, for a sync; none when it is not there any more.
    [[nodiscard]] UniqueFd open_again(const ConfinedDir& root) const;

  private:
    TempFile(UniqueFd fd, std::string directory, std::string temporary, std::string name)
        : fd_(std::move(fd)),
          directory_(std::move(directory)),
          temporary_(std::move(temporary)),
          name_(std::move(name)) {}
    [[nodiscard]] bool clone(int from);
    /// 0 or an errno.
    [[nodiscard]] int copy_range(int from, const Extent& extent);
    [[nodiscard]] Result<void> charge(const struct stat& st, std::uint64_t bytes,
                                      const std::shared_ptr<DiskQuota>& quota);
    [[nodiscard]] Error error(std::string_view what, int error_number) const;
    [[nodiscard]] Error no_room(int error_number) const;

    UniqueFd fd_;
    std::string directory_;
    std::string temporary_;
    std::string name_;
    std::uint64_t written_end_ = 0;
    bool complete_ = false;
    int rest_error_ = 0;  // an errno
    bool adopted_ = false;
    bool shared_ = false;
    bool cloned_ = false;    // all of an older version was taken over
    bool may_clone_ = true;  // nothing was written, and the file system was not found to be unable
    std::unique_ptr<DiskQuota::Charge> charge_{};
    std::optional<FileId> is_{};  // as it was looked at
};

}  // namespace udtx::transfer
