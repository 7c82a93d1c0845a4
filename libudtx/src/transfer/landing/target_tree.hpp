// The tree that is being written, shared by everything that writes to it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/quirks/disk_times.hpp"
#include "transfer/file/quirks/folded_names.hpp"
#include "transfer/file/quirks/lent_rights.hpp"
#include "transfer/landing/committer.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/landing/old_content.hpp"
#include "transfer/landing/piece_journal.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_file.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// The files that a receiver is writing, or that wait for their final names.

/// Any thread may use it.
class NamesUnderWay {
  public:
    /// False: the file is under way already.
    [[nodiscard]] bool begin(std::string_view path) {
        const Lock lock(mutex_);
        return keys_.insert(path_key(path)).second;
    }
    void end(std::string_view path) {
        const Lock lock(mutex_);
        keys_.erase(path_key(path));
    }

  private:
    Mutex mutex_;
    std::unordered_set<std::uint64_t> keys_ GUARDED_BY(mutex_);
};

// The files that this run wrote or verified. A hard link of the transfer may lead only to one of them. Any other file
// may belong to another user, and the sender may have no right to read it.

/// The writer's and the committer's threads use it. Call has() only once all files have their final names: from the
/// first call on, add() has no effect. Only links follow after that, and no hard link leads to one of them.
class OwnFiles {
  public:
    explicit OwnFiles(EntryClaims& claims) : claims_(claims) {}

    void add(const std::string& path, const FileId& is) {
        const std::uint64_t key = key_for(path, is);
        const Lock lock(mutex_);
        if (!asked_) files_.add(key);
    }
    /// True if the file that has this name now is one of them. False also if there were too many files to store.
    [[nodiscard]] bool has(const std::string& path, const FileId& is) {
        const std::uint64_t key = key_for(path, is);
        const Lock lock(mutex_);
        asked_ = true;
        return files_.has(key);
    }
    [[nodiscard]] std::uint64_t held() const {
        const Lock lock(mutex_);
        return files_.held();
    }

  private:
    /// A file system that may change names may also make up inode numbers, so its keys use names only.
    std::uint64_t key_for(const std::string& path, const FileId& is) {
        const std::uint64_t name = path_key(path);
        return claims_.may_fold(split_leaf(path).directory) ? name : key_of({name, is.device, is.inode});
    }

    EntryClaims& claims_;
    mutable Mutex mutex_;
    NameSet files_ GUARDED_BY(mutex_);
    bool asked_ GUARDED_BY(mutex_) = false;
};

// Changes of mode, time, owner and attributes of existing files that have several names. Names that are not of this
// transfer must keep what they have: a snapshot by hard links, or what a tool for equal files has linked. So the
// changes wait until all names of the transfer are known.

class TargetTree;

/// What an existing entry is to get.
struct Change {
    std::optional<std::uint32_t> mode{};
    std::optional<FileTime> mtime{};
    std::optional<Owner> owner{};
    std::vector<message::Attribute> attributes{};
    bool all_attributes = false;          ///< it loses other attributes
    std::optional<struct stat> proven{};  ///< its content is what the sender has if it still has this state
};

/// For the writer's task.
class SharedInodes {
  public:
    /// `tree` must outlive this object.
    explicit SharedInodes(TargetTree& tree) : tree_(tree) {}

    /// Call it for each hard link of the transfer, before the first go_on().
    void note_link(const std::string& path, const std::string& target);
    /// Stores a change of a file with several names.
    void defer(const std::string& path, Change change);
    /// Call it when all files have their names, and before links are made: makes the next change. If the file has a
    /// name that is not of the transfer, a copy gets what changes and replaces it. False: none is left.
    bool go_on();
    /// True if the entry, open as `fd`, lacks something of the change.
    [[nodiscard]] bool differs(const std::string& path, int fd, const struct stat& st, const Change& change) const;
    /// Sets what differs on an entry that is open as `fd` and has no other names.
    void set(EntryType type, const std::string& path, int fd, const struct stat& st, const Change& change) const;

    [[nodiscard]] std::uint64_t held() const noexcept;

  private:
    void apply(const std::string& path, const Change& change);
    [[nodiscard]] Result<void> replace(const std::string& path, const Change& change, int fd, const struct stat& st);

    TargetTree& tree_;
    std::map<std::string, Change> waiting_;
    std::uint64_t bytes_ = 0;                                  // of waiting_
    std::unordered_map<std::uint64_t, std::uint32_t> linked_;  // other names that lead to it now, by path key
    std::uint64_t replaced_ = 0;
};

// The one rule for failures at the receiver.
//
// Data comes first. If something that belongs to an entry besides its data (Belonging) cannot be set, it is counted and
// named, and the entry stays. An entry that cannot be created, written or named fails alone. The transfer ends only if
// the disk itself fails for one entry after the other, because everything sent later would be lost.

/// True if the disk is full, or full for this user. A smaller file may still fit.
[[nodiscard]] bool is_full_disk(const Error& error) noexcept;
/// True if the disk is full, fails, is read-only or is gone: the next entry will probably fail too. False if the disk
/// only rejects a name, a size or a right.
[[nodiscard]] bool is_of_disk(const Error& error) noexcept;

/// Counts entries in a row that failed because of the disk. For one thread.
class DiskWatch {
  public:
    /// Call it for an entry that arrived.
    void succeeded() noexcept { failed_ = full_ = 0; }
    /// Call it for an entry that failed. Returns the error that ends the transfer, if it has to end.
    [[nodiscard]] std::optional<Error> failed(const Error& error);

  private:
    int failed_ = 0;
    int full_ = 0;
};

// The tree that is being written, shared by everything that writes to it. It decides what may be in the way of a name,
// how a complete entry gets its name, and who is told of the result.

/// What is known of the destination and of one run, besides the offer and the options.
struct TreeRun {
    std::uint64_t unique = 0;          ///< makes temporary names differ from those of other jobs
    ResumeJournal* journal = nullptr;  ///< null: incomplete files are removed; otherwise another run continues them
    JobFile* job = nullptr;            ///< with a journal, for a shard: records the files that other shards fill too
    bool occupied = true;              ///< the directory had entries before
    std::optional<std::uint32_t> root_mode{};  ///< the root's mode before its owner opened it up
    std::size_t hard_link_bytes = 64U << 20U;  ///< the memory for hard links that wait; more of them wait on the disk
};

/// For the writer's task, except what on_committed() uses.
class TargetTree final : public Report {
  public:
    /// `agreed`, `options` and `report` must outlive this object. `agreed`: the result of agreed().
    TargetTree(ConfinedDir root, const message::Offer& agreed, const LandingOptions& options, TreeRun run,
               Report& report);
    TargetTree(const TargetTree&) = delete;
    TargetTree& operator=(const TargetTree&) = delete;

    /// Reports that an entry failed.
    void fail(std::uint64_t index, const std::string& path, const Error& error);
    /// A callback for properties that cannot be set on a file under construction. `path` must outlive it.
    [[nodiscard]] OnUnset unset_of(const std::string& path);
    /// Call it when a file is complete: the disk works.
    void note_working_disk() noexcept { disk_.succeeded(); }
    /// Counts an unchanged entry. Its directory gets a sync: a killed run may have given the entry its name without
    /// one.
    void note_unchanged(EntryType type, const std::string& path);
    /// Records that the file of that name is what the sender has.
    void note_own(const std::string& path);

    /// `error_number`: from opening the directory of a name. True: an entry in its place must not be replaced, so
    /// nothing below it is written.
    [[nodiscard]] bool stays(int error_number) const;
    /// For a file or link before its commit: checks whether a directory in its place may go, and by `ready` whether the
    /// rest will most likely succeed. True: the commit has to replace the directory.
    Result<bool> make_way(const std::string& path, const std::function<Result<void>()>& ready);
    /// Submits a commit. Waits for it if it replaces a directory.
    void submit(CommitOrder commit, bool replaces_directory = false);
    /// Makes way and submits a link that has its temporary name in `parent`.
    void submit_link(CommitOrder commit, int parent);
    /// Waits until everything submitted has its name or has failed.
    void flush() { committer_->flush(); }

    /// Creates a file under a temporary name. Opens its directory up if necessary.
    Result<TempFile> create_temporary(const std::string& path, std::uint64_t unique, const FileAttributes& attributes);
    /// Copies a file that has its final name, which is open as `from` in the state `st`, to a temporary file with these
    /// properties and the attributes `extended`. `keep`: it has the other attributes of the file too.
    Result<TempFile> copy_standing(const std::string& path, std::uint64_t unique, int from, const struct stat& st,
                                   const FileAttributes& attributes, const std::vector<message::Attribute>& extended,
                                   bool keep);
    /// As TempFile::find_room(), within the limits. If there is no room, it first waits until complete files have
    /// replaced older ones.
    Result<void> find_room(TempFile& file, std::uint64_t bytes, std::uint64_t more = 0);
    /// The number for the temporary name of a file. With a journal another run finds that file.
    [[nodiscard]] std::uint64_t unique_of_file(std::uint64_t index, const std::string& path) const;
    /// As unique_of_file(), for a link.
    [[nodiscard]] std::uint64_t unique_of_link(std::uint64_t index, const std::string& path) const;
    /// `make`: the system call that gives a link the name `temporary` in `parent`.
    Result<void> make_link(const std::string& path, int parent, const std::string& temporary,
                           const std::function<int()>& make) const;

    /// Makes durable what was found or deleted. Only the first call has an effect.
    void sync_names();
    void tell_lost_times();
    /// Call it at the end of the job.
    void close_journal(bool complete);

    /// Bytes of memory that the sender makes us hold.
    [[nodiscard]] std::uint64_t held() const {
        return old.held() + claims.held() + own_files.held() + shared.held() + (eraser ? eraser->held() : 0);
    }

    const ConfinedDir root;
    EntryClaims claims;
    const message::Offer& offer;
    const LandingOptions& options;
    const TreeRun run;
    Report& report;
    OldContent old;
    OwnFiles own_files;
    SharedInodes shared;
    LostTimes lost_times;
    LentRights lent;
    ChangedDirectories unsynced;  ///< directories where something was found as sent, or was deleted
    NamesUnderWay under_way;      ///< files begun or being committed: two of one name would share a temporary file
    std::optional<Eraser> eraser;
    std::optional<PieceJournal> journal;

  private:
    void on_committed(const std::vector<CommitOrder>& orders, const CommittedBatch& batch);
    void on_named(const CommitOrder& order, CommitState state);
    // As the eraser's report. What it deletes needs a sync.
    void ended(Ended how, EntryType type, const std::string& path, std::uint64_t size) override;
    void failed(std::uint64_t index, const std::string& path, const Error& error) override { fail(index, path, error); }
    void lacks(EntryType type, Belonging what, const std::string& path, int error_number) override {
        report.lacks(type, what, path, error_number);
    }
    void kept(std::uint64_t bytes) override { report.kept(bytes); }
    bool checked(std::uint64_t bytes) override { return report.checked(bytes); }
    void warn(const std::string& text) override { report.warn(text); }
    void fatal(const Error& error) override { report.fatal(error); }
    /// Deletes the directory that a commit has replaced.
    [[nodiscard]] DeleteReplaced remove_replaced(const std::string& path);

    DiskWatch disk_;            // counts failures of writes
    DiskWatch commits_;         // counts failures of commits, on the committer's thread
    bool failed_here_ = false;  // the receiver itself caused a failure
    bool journal_closed_ = false;
    bool names_synced_ = false;
    bool sync_warned_ = false;            // on the committer's thread
    std::optional<Committer> committer_;  // last: its task uses the members above
};

}  // namespace udtx::transfer
