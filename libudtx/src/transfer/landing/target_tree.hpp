// The tree that is being written, shared by everything that writes to it. It decides what may be in the way of a name,
// how a complete entry gets its name, and who is told of the result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/basis_files.hpp"
#include "transfer/landing/changed_directories.hpp"
#include "transfer/landing/committer.hpp"
#include "transfer/landing/disk_times.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/landing/failure_rule.hpp"
#include "transfer/landing/lent_rights.hpp"
#include "transfer/landing/names_under_way.hpp"
#include "transfer/landing/own_files.hpp"
#include "transfer/landing/receive_resume.hpp"
#include "transfer/landing/shared_inodes.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/resume/job_file.hpp"

namespace udtx::transfer {

struct TreeWriterOptions {
    bool preserve = false;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::uint64_t unique = 0;          ///< makes temporary names differ from those of other jobs
    ResumeJournal* journal = nullptr;  ///< null: incomplete files are removed; otherwise another run continues them
    JobFile* job = nullptr;            ///< with a journal, for a shard: records the files that other shards fill too
    Overwrite overwrite = Overwrite::diff;
    bool by_digest = false;
    bool sparse = false;                       ///< zeros become holes
    bool owner = false;                        ///< user and group are set as the sender says
    bool erase = false;                        ///< what the sender does not have is deleted at the end
    bool occupied = true;                      ///< the directory had entries before
    bool set_id = false;                       ///< with `preserve`: special bits of files are kept
    RoomLimits room{};                         ///< limits of the disk
    bool own_top = false;                      ///< the root may get the mode, owner and time that are sent for it
    bool announce_all = false;                 ///< unchanged files are announced too, as kept, for a receipt
    std::optional<std::uint32_t> root_mode{};  ///< the root's mode before its owner opened it up
    std::size_t hard_link_bytes = 64U << 20U;  ///< the memory for hard links that wait; more of them wait on the disk
};

/// The bits of a file's mode that are set.
[[nodiscard]] std::uint32_t bits_to_set(const TreeWriterOptions& options);

struct TreeWriterCallbacks {
    /// Called in the committer's task, and for failures also in the writer's. Each entry gets at most one of the two
    /// calls.
    std::function<void(const Commit&)> delivered;
    std::function<void(std::uint64_t index, const std::string& path, const Error&)> failed;
    /// An entry was delivered without this property.
    std::function<void(EntryType type, Belonging what, const std::string& path, int error_number)> unset =
        [](EntryType, Belonging, const std::string&, int) {};
    /// Nothing more can be written.
    std::function<void(const Error&)> fatal;
    /// Bytes that existed before this run, mostly from an earlier run, and that are used.
    std::function<void(std::uint64_t bytes)> kept = [](std::uint64_t) {};
    /// `unchanged`: an entry was the same already. `skipped`: an entry existed and must not be overwritten.
    std::function<void(EntryType type)> unchanged = [](EntryType) {};
    /// A directory that was reported as unchanged gets another owner or other attributes after all.
    std::function<void()> directory_changed = [] {};
    std::function<void(EntryType type)> skipped = [](EntryType) {};
    /// An entry was deleted.
    std::function<void(const std::string& path)> erased = [](const std::string&) {};
    /// A warning for the user.
    std::function<void(const std::string& text)> noted = [](const std::string&) {};
    /// Existing bytes that were read and hashed. False: there is no time to continue.
    ReceiveResume::Checked checked = [](std::uint64_t) { return true; };
};

/// For the writer's task, except what the committer's callbacks use.
class TargetTree {
  public:
    TargetTree(ConfinedDir root, TreeWriterOptions options, TreeWriterCallbacks callbacks);
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
    void submit(Commit commit, bool replaces_directory = false);
    /// Makes way and submits a link that has its temporary name in `parent`.
    void submit_link(Commit commit, int parent);
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
        return basis.held() + claims.held() + own_files.held() + shared.held() + (eraser ? eraser->held() : 0);
    }

    const ConfinedDir root;
    EntryClaims claims;
    const TreeWriterOptions options;
    const TreeWriterCallbacks callbacks;
    BasisFiles basis;
    OwnFiles own_files;
    SharedInodes shared;
    LostTimes lost_times;
    LentRights lent;
    ChangedDirectories unsynced;  ///< directories where something was found as sent, or was deleted
    NamesUnderWay under_way;      ///< files begun or being committed: two of one name would share a temporary file
    std::optional<Eraser> eraser;
    std::optional<ReceiveResume> resume;

  private:
    [[nodiscard]] CommitCallbacks on_commit();
    void note_erased(const std::string& path);
    /// Deletes the directory that a commit has replaced.
    [[nodiscard]] DeleteReplaced remove_replaced(const std::string& path);

    DiskWatch disk_;            // counts failures of writes
    DiskWatch commits_;         // counts failures of commits, on the committer's thread
    bool failed_here_ = false;  // the receiver itself caused a failure
    bool journal_closed_ = false;
    bool names_synced_ = false;
    std::optional<Committer> committer_;  // last: its task uses the members above
};

}  // namespace udtx::transfer
