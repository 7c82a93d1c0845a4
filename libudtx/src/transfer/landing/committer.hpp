// Makes finished files durable and gives them their final names, in groups: an order goes in, a result comes out.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/quirks/folded_names.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/landing/report.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// Collects the directories in which names changed and makes them durable together. Keeps a few descriptors open at a
// time.

/// Syncs the file system of `fd`, or all file systems if that is not supported. Returns 0 or an errno.
[[nodiscard]] int sync_file_system(int fd);

class ChangedDirectories {
  public:
    /// `root` must outlive this object.
    explicit ChangedDirectories(const ConfinedDir& root);

    /// Opens a directory and notes it for the next sync. Returns a descriptor that this object owns, or -1 and an errno
    /// in `error`.
    int open(const std::string& path, int& error);
    /// Notes a directory for the next sync. Any number of directories may be noted.
    void note(const std::string& path);
    /// Makes the changed names durable. Returns 0 or an errno.
    [[nodiscard]] int sync();
    /// As sync(), but syncs whole file systems: the contents of files become durable too where the file system supports
    /// that.
    [[nodiscard]] int sync_all();

  private:
    /// Notes a mount below the root. It needs its own sync.
    void note_mount(int fd);
    int sync_each();
    int sync_mounts();

    const ConfinedDir& root_;
    const std::optional<std::uint64_t> mount_;
    bool one_by_one_;                           // a sync of the file system does not make all names durable
    std::map<std::uint64_t, UniqueFd> others_;  // by mount: a directory on each other mount
    const std::size_t max_open_;
    std::string latest_;  // path that was noted last; "" is the root
    int sync_error_ = 0;  // errno of an earlier sync, also of directories that left directories_
    std::map<std::string, UniqueFd> directories_;
    std::size_t open_ = 0;
    bool all_open_ = true;
};

// Gives finished temporary files their final names, a group at a time. Contents are durable before their names, and
// names before anyone is told of them.

/// Identifies a file, whatever its name is.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    static FileId of(const struct stat& st) noexcept {
        return {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino)};
    }
    friend bool operator==(const FileId&, const FileId&) noexcept = default;
};

/// What shows whether a disk has kept the bytes that it accepted.
struct FileProof {
    HashAlgorithm hash{};
    ProvenPiece last{};                ///< at the end of the file
    std::optional<Digest> whole{};     ///< of a file without holes
    std::optional<Digest> sequence{};  ///< of all bytes, for a stream
    /// All pieces of a file that other shards filled too.
    std::function<std::vector<ProvenPiece>()> pieces{};
};

/// An entry that is complete except for its final name.
struct CommitOrder {
    std::uint64_t index = 0;
    EntryType type = EntryType::file;
    std::string directory;  ///< directory of both names, below the root
    std::string temporary;  ///< empty for a directory: it has its name, and only its parent needs a sync
    std::string name;
    std::optional<FileId> is{};  ///< the file that the temporary name must refer to
    UniqueFd fd;  ///< a file that needs its own sync; none: it is closed, and the root's file system is synced
    int closing_error = 0;  ///< errno of a file that is already closed
    std::uint64_t size = 0;
    std::uint64_t length = 0;            ///< of the finished file: `size` may be that of a part
    std::optional<FileProof> proof{};    ///< of a file that is worth reading back
    bool counted = false;                ///< the file existed and was reported before: it only gets another inode
    std::optional<FileTime> time{};      ///< time that the file is to have
    std::optional<FileTime> had{};       ///< time that the disk stored for it, read before the file was closed
    std::optional<record::Done> done{};  ///< record for the journal
    std::uint64_t unproven = 0;          ///< bytes that must be sent again if the receiver is killed now
    /// For a part of a file that other shards fill too: records that the part is on disk. True: the file is complete
    /// and gets its name.
    std::function<Result<bool>(int fd)> fill{};
    DeleteReplaced remove_replaced{};  ///< a directory of that name may be replaced, and this deletes it
    bool keep_existing = false;        ///< an existing entry of that name stays
    [[nodiscard]] std::string path() const { return directory.empty() ? name : directory + '/' + name; }
};

/// The life of a commit. It ends as `named`, `skipped`, `part` or `failed`.
enum class CommitState : std::uint8_t {
    ordered,
    synced,   ///< its content is durable
    named,    ///< it has its final name
    skipped,  ///< an existing entry stayed
    part,     ///< other parts of the file are still missing
    failed,
};

struct CommitResult {
    CommitState state = CommitState::ordered;
    std::optional<Error> error{};  ///< if it failed
};
struct CommittedBatch {
    std::vector<CommitResult> results;     ///< of each order
    std::optional<std::string> warning{};  ///< the disk cannot sync
};

/// Syncs contents, renames, syncs directories. Removes the temporary files of failed commits, except files of other
/// programs and files that other shards fill too. It stops reading back when `report` says that there is no time.
[[nodiscard]] CommittedBatch commit_batch(const ConfinedDir& root, EntryClaims& claims,
                                          std::vector<CommitOrder>& orders, Report& report);

// A task that makes finished temporary files durable and gives them their final names, in groups. One sync of the file
// system covers a thousand small files, and the writer continues meanwhile.

class Committer {
  public:
    /// Called in the committer's task, when the results are durable.
    using Committed = std::function<void(const std::vector<CommitOrder>& orders, const CommittedBatch& batch)>;
    /// The references must outlive the committer.
    Committer(const ConfinedDir& root, EntryClaims& claims, Report& report, Committed committed);
    /// Commits everything that was submitted.
    ~Committer();
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    /// Waits while too much is pending. Keeps the descriptor of a small file only while few files are pending.
    /// std::runtime_error: a commit threw an exception, and the committer has stopped.
    void submit(CommitOrder order);
    /// Waits until everything submitted has been reported. Throws as submit() does.
    void flush();

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep give_up(Error error) noexcept;
    [[nodiscard]] bool batch_is_due() const REQUIRES(mutex_);
    /// True if no more may be pending before `order`.
    [[nodiscard]] bool is_full(const CommitOrder& order) const REQUIRES(mutex_);
    void check_well() const REQUIRES(mutex_);

    const ConfinedDir& root_;
    EntryClaims& claims_;
    Report& report_;
    Committed committed_;
    const std::optional<std::uint64_t> mount_;  // mount of the root, if one sync makes all files on it durable
    Mutex mutex_;
    Condition changed_;
    std::vector<CommitOrder> pending_ GUARDED_BY(mutex_);
    std::size_t pending_fds_ GUARDED_BY(mutex_) = 0;
    std::uint64_t pending_bytes_ GUARDED_BY(mutex_) = 0;
    std::uint64_t unproven_ GUARDED_BY(mutex_) = 0;       // CommitOrder::unproven of all in pending_
    std::uint64_t busy_unproven_ GUARDED_BY(mutex_) = 0;  // CommitOrder::unproven of the batch being committed
    std::chrono::steady_clock::time_point first_pending_ GUARDED_BY(mutex_);
    bool busy_ GUARDED_BY(mutex_) = false;
    bool hurry_ GUARDED_BY(mutex_) = false;
    std::optional<Error> broken_ GUARDED_BY(mutex_);
    DiskTask task_;  // last: it uses the members above
};

}  // namespace udtx::transfer
