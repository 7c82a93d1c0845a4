// The tree that is being written, as all that write in it share it: what may stand in a name's way, how a thing that is
// complete gets its name, and who hears what became of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/resume/job_file.hpp"

namespace udtx::transfer {

struct TreeWriterOptions {
    bool preserve = false;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::uint64_t unique = 0;          ///< makes temporary names differ from those of other jobs
    ResumeJournal* journal = nullptr;  ///< null: what is not complete goes; else another run continues it
    JobFile* job = nullptr;            ///< with a journal: of a shard, for the files that others fill as well
    Overwrite overwrite = Overwrite::diff;
    bool by_digest = false;
    bool sparse = false;                       ///< zeros become holes
    bool owner = false;                        ///< user and group are set as the sender says
    bool erase = false;                        ///< what the sender does not have goes at the end
    bool occupied = true;                      ///< something was there before
    bool set_id = false;                       ///< special bits of files are kept, with `preserve`
    RoomLimits room{};                         ///< of the disk
    bool own_top = false;                      ///< the root may get the mode, owner and time of what it takes
    bool announce_all = false;                 ///< files that are the same come too, as kept: there is a receipt
    std::optional<std::uint32_t> root_mode{};  ///< what the root had before its owner opened it up
};

/// Of a file's mode, the bits that are set.
[[nodiscard]] std::uint32_t bits_to_set(const TreeWriterOptions& options);

struct TreeWriterCallbacks {
    /// Called in the committer's task (and in the writer's for failures); for each entry at most one of the two.
    std::function<void(const Commit&)> delivered;
    std::function<void(std::uint64_t index, const std::string& path, const Error&)> failed;
    /// An entry was delivered without this.
    std::function<void(EntryType type, Belonging what, const std::string& path, int error_number)> unset =
        [](EntryType, Belonging, const std::string&, int) {};
    /// Nothing more can be written.
    std::function<void(const Error&)> fatal;
    /// Bytes that an earlier run left and that are used.
    std::function<void(std::uint64_t bytes)> kept = [](std::uint64_t) {};
    /// A file that was the same already; one that was there and was not to be overwritten.
    std::function<void(EntryType type)> unchanged = [](EntryType) {};
    std::function<void(EntryType type)> skipped = [](EntryType) {};
    /// What was deleted.
    std::function<void(const std::string& path)> erased = [](const std::string&) {};
    /// For the user, at the end.
    std::function<void(const std::string& text)> noted = [](const std::string&) {};
    /// Bytes that were there before and were read and hashed; false: there is no time for more.
    ReceiveResume::Checked checked = [](std::uint64_t) { return true; };
};

/// Of the writer's task, but for what the committer's callbacks use.
class TargetTree {
  public:
    TargetTree(ConfinedDir root, TreeWriterOptions options, TreeWriterCallbacks callbacks);
    TargetTree(const TargetTree&) = delete;
    TargetTree& operator=(const TargetTree&) = delete;

    /// An entry does not arrive.
    void fail(std::uint64_t index, const std::string& path, const Error& error);
    /// What could not be set of a file under construction. `path` outlives it.
    [[nodiscard]] OnUnset unset_of(const std::string& path);
    /// A file is complete: the disk works.
    void note_working_disk() noexcept { disk_.succeeded(); }
    /// An earlier run that was killed may have given it its name, and not have synced that.
    void note_unchanged(EntryType type, const std::string& path);
    /// What stands under that name is what the sender has.
    void note_own(const std::string& path);

    /// Of a failure to open the directory of a name: it is not to be replaced, and so nothing below it is.
    [[nodiscard]] bool stays(int error_number) const;
    /// For a file or a link that has come, before it is committed: a directory in its place is emptied if `ready` says
    /// that the rest will hardly fail. True: it is empty, and the commit is to replace it.
    Result<bool> make_way(const std::string& path, const std::function<Result<void>()>& ready);
    /// What replaces a directory is so at once.
    void submit(Commit commit, bool replaces_directory = false);
    /// A link that has its temporary name in `parent`, when the way is made.
    void submit_link(Commit commit, int parent);
    /// All that was submitted has its name, or has failed.
    void flush() { committer_->flush(); }

    /// A file under a temporary name, in a directory that may have to be opened up.
    Result<TempFile> create_temporary(const std::string& path, std::uint64_t unique, const FileAttributes& attributes);
    /// Within the limits, when what is complete has replaced what stood under its name.
    Result<void> find_room(TempFile& file, std::uint64_t bytes, std::uint64_t more = 0);
    /// Makes the temporary name of a file; with a journal another run finds that.
    [[nodiscard]] std::uint64_t unique_of_file(std::uint64_t index, const std::string& path) const;
    /// The same of a link.
    [[nodiscard]] std::uint64_t unique_of_link(std::uint64_t index, const std::string& path) const;
    /// `make`: a system call that gives a link the temporary name in `parent`.
    Result<void> make_link(const std::string& path, int parent, const std::string& temporary,
                           const std::function<int()>& make) const;

    /// What was found or deleted is so after a power cut, too. Once.
    void sync_names();
    void tell_lost_times();
    /// At the end of the job.
    void close_journal(bool complete);

    /// Memory that the sender made us remember.
    [[nodiscard]] std::uint64_t held() const {
        return basis.held() + claims.held() + own_files.held() + (eraser ? eraser->held() : 0);
    }

    const ConfinedDir root;
    EntryClaims claims;
    const TreeWriterOptions options;
    const TreeWriterCallbacks callbacks;
    BasisFiles basis;
    OwnFiles own_files;
    LostTimes lost_times;
    LentRights lent;
    ChangedDirectories unsynced;  ///< where something was found as it is to be, or was deleted
    NamesUnderWay under_way;      ///< of files that are begun or being committed: two would share a temporary file
    std::optional<Eraser> eraser;
    std::optional<ReceiveResume> resume;

  private:
    [[nodiscard]] CommitCallbacks on_commit();
    void note_erased(const std::string& path);

    DiskWatch disk_;            // of what is written ...
    DiskWatch commits_;         // ... and, on the committer's thread, of what gets its name
    bool failed_here_ = false;  // not all failures were the sender's
    bool journal_closed_ = false;
    bool names_synced_ = false;
    std::optional<Committer> committer_;  // last: its task uses what stands above
};

}  // namespace udtx::transfer
