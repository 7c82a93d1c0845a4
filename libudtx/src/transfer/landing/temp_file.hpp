// A file under construction, in the directory of its target and under a temporary name.
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
#include "transfer/file/quirks/disk_quota.hpp"
#include "transfer/landing/committer.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// The properties of the finished file.
struct FileAttributes {
    std::uint32_t mode = 0666;
    std::optional<Owner> owner{};
    bool exact_mode = false;  ///< else `mode` is subject to the umask
    bool set_mtime = false;
    FileTime mtime{};
};

/// Tests whether `from` may be renamed in its directory: renames it to `to` and back. Returns 0 or an errno; after an
/// errno the file may be gone.
[[nodiscard]] int try_rename(int directory, const std::string& from, const std::string& to);

/// Frees the name of a temporary entry, at which an earlier run left one. A directory, which a file or link replaced
/// and which could not be deleted, gets another such name. Returns 0 or an errno.
[[nodiscard]] int vacate(int directory, const std::string& temporary);

class TempFile {
  public:
    enum class Existing { refuse, replace };

    /// `path` is below `root`. file_io: the directory cannot be opened (for example because of a symbolic link in its
    /// path), rights or space are missing, or the temporary file exists and must not be replaced.
    static Result<TempFile> create(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                   const FileAttributes& attributes, Existing existing = Existing::refuse);
    /// Continues the temporary file of an earlier run. file_io: it does not exist, or it is not one of our files.
    static Result<TempFile> adopt(const ConfinedDir& root, const std::string& path, std::uint64_t unique);
    enum class Missing { create, fail };
    /// Opens a file that other processes fill too, or creates it. `fresh`: it is new.
    static Result<TempFile> share(const ConfinedDir& root, const std::string& path, std::uint64_t unique,
                                  const FileAttributes& attributes, Missing missing, bool& fresh);
    /// True if adopt() takes the file. A file with two names, as a copy by hard links makes it, must keep its content.
    [[nodiscard]] static bool is_adoptable(int fd);
    TempFile(TempFile&&) noexcept = default;
    TempFile& operator=(TempFile&&) noexcept = default;

    /// Call it before a large file is sent: tests whether the disk accepts the characters and the length of its name,
    /// as far as that is possible without using the name.
    Result<void> try_name(const ConfinedDir& root) const;
    /// file_io with ENOSPC or EDQUOT: the disk or the limits have no room for a file of `bytes`, or for `more` than it
    /// holds. From then on, a quota is charged with the file.
    [[nodiscard]] Result<void> find_room(std::uint64_t bytes, const LandingOptions& limits, std::uint64_t more = 0);
    /// Call it before something is removed for the file, and while it is open: syncs its content and tests whether it
    /// can be renamed.
    Result<void> try_commit(const ConfinedDir& root) const;
    /// Reserves the space that is still missing up to `bytes`. Fails only if there is no space.
    Result<void> reserve(std::uint64_t bytes);
    /// Gives space back that was reserved beyond the data. Not for a file that other shards fill too.
    void give_back_space(const ConfinedDir& root) const;
    /// Makes a part without data read as zeros, if the file is continued.
    Result<void> clear(std::uint64_t offset, std::uint64_t length);
    Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
    /// As write(), but zeros become holes where nothing was before.
    Result<void> write_sparse(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Copies from another file. Shares its blocks if the file system can.
    Result<void> copy_from(int from, const Extent& extent);
    /// True if a part that was not written may hold old data.
    [[nodiscard]] bool has_old_content() const noexcept {
        return content_ == Content::adopted || content_ == Content::cloned;
    }
    /// Returns 0 or an errno.
    [[nodiscard]] int set_attributes(const std::vector<message::Attribute>& attributes);
    /// Sets full size (the end may be a hole), owner, mode and time. `unset`: what could not be set.
    Result<void> complete(std::uint64_t size, const FileAttributes& attributes, const OnUnset& unset);
    /// As above, for a file of that name that is open as `fd`.
    static Result<void> complete(int fd, const std::string& path, std::uint64_t size, const FileAttributes& attributes,
                                 const OnUnset& unset);
    /// Reads the file's present state and remembers its identity. Returns 0 or an errno.
    [[nodiscard]] int look(struct stat& st);
    /// Hands over the descriptor and the names. `holes`: part of its size may have no blocks on disk.
    [[nodiscard]] CommitOrder into_commit(std::uint64_t index, std::uint64_t size, bool holes);
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(fd_); }
    /// Closes the descriptor; the file stays. reopen() reports an error of that.
    void rest();
    /// Call it after rest(). file_io: the file cannot be opened, or is another file now.
    Result<void> reopen(const ConfinedDir& root);
    void remove(const ConfinedDir& root);
    /// A second open description of the file, for a sync. Empty if the file is gone.
    [[nodiscard]] UniqueFd open_again(const ConfinedDir& root) const;

  private:
    /// What an unwritten part of the file holds.
    enum class Content : std::uint8_t {
        nothing,  // and nothing was written, so that it may become a clone
        own,      // zeros: this run has written the file
        cloned,   // all of an older version
        adopted,  // what an earlier run or another shard wrote
    };
    void note_written() noexcept {
        if (content_ == Content::nothing) content_ = Content::own;
    }
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
    mode_t lent_ = 0;     // rights of the owner that the file loses when it is complete
    int rest_error_ = 0;  // errno of rest()
    bool shared_ = false;
    Content content_ = Content::nothing;
    std::unique_ptr<DiskQuota::Charge> charge_{};
    std::optional<FileId> is_{};  // identity at the latest look()
};

}  // namespace udtx::transfer
