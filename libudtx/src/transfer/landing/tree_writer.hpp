// Writes a received tree below one directory. For one task; knows nothing of connections.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/basis_files.hpp"
#include "transfer/landing/changed_directories.hpp"
#include "transfer/landing/committer.hpp"
#include "transfer/landing/disk_times.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/landing/failure_rule.hpp"
#include "transfer/landing/held_bytes.hpp"
#include "transfer/landing/lent_rights.hpp"
#include "transfer/landing/names_under_way.hpp"
#include "transfer/landing/own_files.hpp"
#include "transfer/landing/receive_resume.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/landing/use_order.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/pieces/file_verifier.hpp"
#include "transfer/pieces/piece_assembler.hpp"

namespace udtx::transfer {

struct TreeWriterOptions {
    bool preserve = false;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::uint64_t unique = 0;          ///< makes temporary names differ from those of other jobs
    ResumeJournal* journal = nullptr;  ///< null: what is not complete goes; else another run continues it
    Overwrite overwrite = Overwrite::diff;
    bool by_digest = false;
    bool sparse = false;                       ///< zeros become holes
    bool owner = false;                        ///< user and group are set as the sender says
    bool erase = false;                        ///< what the sender does not have goes at the end
    bool occupied = true;                      ///< something was there before
    bool set_id = false;                       ///< special bits of files are kept, with `preserve`
    RoomLimits room{};                         ///< of the disk
    bool own_top = false;                      ///< the root may get the mode, owner and time of what it takes
    std::optional<std::uint32_t> root_mode{};  ///< what the root had before its owner opened it up
};

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

/// Order of calls: begin_entry() for each entry in order; pieces, digests and end_file() of a file in any order after
/// it; then finish() until it is done, or abandon().
class TreeWriter {
  public:
    TreeWriter(ConfinedDir root, TreeWriterOptions options, TreeWriterCallbacks callbacks);
    ~TreeWriter();

    void begin_entry(const message::Entry& entry);
    void write_piece(const WholePiece& piece);
    /// Bytes of pieces that were written, but for those of files that were begun and turned out to be there.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    void check_digests(const message::Digests& digests);
    /// So many bytes may be missing in the quota for the next piece of a file, and a look at the disk would tell: what
    /// is complete has its name now. 0: there is nothing to find out.
    [[nodiscard]] std::uint64_t missing_in_quota(std::uint64_t index, std::uint64_t piece);
    /// What there is of a file. Before its entry.
    void answer(const message::Query& query, const ReceiveResume::Reply& reply);
    /// A file is read for an answer, piece by piece: reads one. False: there is no more of it.
    bool go_on_answering(const ReceiveResume::Reply& reply);
    /// For the end: names that the sender has and does not send.
    void note_unsent(const message::Unsent& unsent);
    /// Of the latest entry.
    void set_meta(const message::Meta& meta);
    /// For the end: what is not to be deleted.
    void add_rules(const message::Rules& rules);
    /// Pieces that are not sent since an answer had them; the first has that ordinal.
    void keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal);
    /// A part of the file without data.
    void make_hole(std::uint64_t index, const Extent& extent);
    /// `pieces`: how many the file was announced with.
    void end_file(const message::FileEnd& end, std::uint64_t pieces);
    /// Waits until everything complete is durable; files that are not complete fail. Hard links are made; what the
    /// sender does not have goes, if it is to and if `all_well` says so then. Directories get their mode and time. Each
    /// call does a part of that; the last one gives the root digest of what the sender declared whole.
    [[nodiscard]] std::optional<Digest> finish(const std::function<bool()>& all_well);
    /// Commits what is complete. Of the rest the temporary files go, but for those that another run can continue.
    void abandon() noexcept;

    /// Memory that the sender made us remember.
    [[nodiscard]] std::uint64_t held() const {
        return unfinished_bytes_ + directory_bytes_ + hard_link_bytes_ + basis_.held() + claims_.held() +
               own_files_.held() + (eraser_ ? eraser_->held() : 0);
    }
    /// The path of an entry that is under construction, for progress; empty if it is not.
    [[nodiscard]] std::string path_of(std::uint64_t index) const;

  private:
    struct OpenFile {
        std::string path;
        FileAttributes attributes;
        std::uint64_t size = 0;
        bool sparse = false;
        bool whole = false;
        FileVerifier verifier;
        std::optional<TempFile> file{};
        bool completed = false;         // size, mode and time are set
        std::optional<FileTime> had{};  // the time then, if it could be set
        bool holes = false;
        bool looked_for_room = false;
        std::uint64_t reserved = 0;       // bytes, from the beginning
        std::uint64_t arrived = 0;        // bytes written, or kept
        bool goes_on = false;             // more than the first piece comes of it, or that is all there is
        std::uint64_t first_written = 0;  // of that piece, until then
        UnsyncedPieces unsynced{};
        std::optional<message::FileEnd> end{};
        std::uint64_t pieces = 0;
        HeldBytes held{};  // of unfinished_bytes_
    };
    /// A file under another name where that cannot be a link.
    struct LinkCopy {
        std::uint64_t index = 0;
        std::string path;
        FileAttributes attributes;
        std::uint64_t size = 0;
        int error_number = 0;  // why it is no link
        UniqueFd from;
        TempFile file;
        std::uint64_t copied = 0;
    };
    /// What finish() is at.
    enum class Ending : std::uint8_t { files, links, durable, erasing, rest };
    struct FinishedDirectory {
        std::string path;
        std::uint32_t mode = 0;
        FileTime mtime{};
    };

    void take_top(const message::Entry& entry);
    void make_directory(const message::Entry& entry, const std::string& path);
    /// Also where something else stands. 0 or an errno; `before`: the mode of one that was there.
    int make_or_open_directory(int parent, const SplitName& split, const message::Entry& entry, std::uint32_t& before);
    /// Of a failure to open the directory of a name: it is not to be replaced, and so nothing below it is.
    [[nodiscard]] bool stays(int error_number) const;
    /// For a file or a link that has come, before it is committed: a directory in its place is emptied if `ready` says
    /// that the rest will hardly fail. True: it is empty, and the commit is to replace it.
    Result<bool> make_way(const std::string& path, const std::function<Result<void>()>& ready);
    /// The same, when the link has its temporary name, which goes if it fails.
    Result<bool> make_way_for_link(const std::string& path, int parent, const std::string& temporary);
    /// What replaces a directory is so at once.
    void submit(Commit commit, bool replaces_directory);
    void make_symlink(const message::Entry& entry, const std::string& path);
    /// Makes its temporary name; with a journal another run finds that.
    [[nodiscard]] std::uint64_t unique_of_link(std::uint64_t index, const std::string& path) const;
    /// `make`: a system call that gives a link the temporary name in `parent`.
    Result<void> make_link(const std::string& path, int parent, const std::string& temporary,
                           const std::function<int()>& make) const;
    /// At the end, when what it leads to has its name.
    /// Owner and attributes of what stands under its name.
    void update_meta(const message::Meta& meta, const std::string& path, EntryType type);
    void remember_hard_link(const message::Entry& entry, const std::string& path);
    /// The next one, or a part of it.
    void make_hard_links();
    /// When they are not made after all.
    void count_standing_links();
    void make_hard_link(const message::Entry& entry);
    /// Where the disk does not give a file two names: the same data under the other one.
    void copy_for_link(const message::Entry& entry, const std::string& path, const struct stat& of, int error_number);
    void copy_more();
    /// Creates the temporary file or opens it again; another one may lose its descriptor for it.
    Result<void> ensure_open(std::uint64_t index, OpenFile& file);
    /// The sender may have begun it before it knew that the file is here, and end it so.
    [[nodiscard]] bool may_stand(const OpenFile& file);
    /// Within the limits, when what is complete has replaced what stood under its name.
    Result<void> find_room(TempFile& file, std::uint64_t bytes, std::uint64_t more = 0);
    /// Not all of its size may be on the disk.
    [[nodiscard]] bool has_holes(const OpenFile& file) const { return file.holes || file.sparse || options_.sparse; }
    /// Room for all of an open file, once; with holes for the next of its pieces.
    Result<void> reserve(OpenFile& file, std::uint64_t piece);
    Result<void> make_temporary(std::uint64_t index, OpenFile& file);
    void limit_open_files();
    /// For the journal; none for what cannot be proven later.
    [[nodiscard]] std::optional<record::Done> done_record(const OpenFile& file) const;
    void end_kept(std::uint64_t index);
    /// More is begun and not finished than may be: the file fails.
    [[nodiscard]] bool too_much_unfinished(std::uint64_t index, OpenFile& file);
    /// Its mode and time are to be set at the end.
    void remember_directory(FinishedDirectory directory);
    /// Nothing is to become of it, and that is no failure.
    void forget(std::uint64_t index);
    Result<void> keep_piece(OpenFile& file, const Extent& piece, std::uint64_t ordinal);
    [[nodiscard]] bool may_continue(OpenFile& file);
    /// At the end of the job.
    void close_journal(bool complete);
    Result<void> store(std::uint64_t index, OpenFile& file, const WholePiece& piece);
    /// Size, mode and time.
    Result<void> complete(OpenFile& file);
    void settle_if_complete(std::uint64_t index, OpenFile& file);
    void count_written(OpenFile& file, const Piece& piece);
    /// The file does not end as one that is there.
    void go_on(OpenFile& file);
    void fail(std::uint64_t index, const std::string& path, const Error& error);
    /// Fails a file under construction and forgets it.
    void drop(std::uint64_t index, const Error& error);
    /// What could not be set of a file under construction.
    [[nodiscard]] OnUnset unset_of(const std::string& path);
    /// An earlier run that was killed may have given it its name, and not have synced that.
    void note_unchanged(EntryType type, const std::string& path);
    /// What stands under that name is what the sender has.
    void note_own(const std::string& path);
    void note_erased(const std::string& path);
    /// What was found or deleted is so after a power cut, too.
    void sync_names();
    /// The one that was made last.
    void restore_last_directory();
    void restore_directories();
    void restore_directory(const FinishedDirectory& directory);
    void tell_lost_times();

    ConfinedDir root_;
    EntryClaims claims_;
    std::unordered_set<std::uint64_t> together_;  // files of which an answer said that they fall together with others
    TreeWriterOptions options_;
    TreeWriterCallbacks callbacks_;
    Hasher piece_hasher_;
    RootDigest root_digest_;
    std::uint64_t unfinished_bytes_ = 0;  // of memory, that files_ hold
    std::unordered_map<std::uint64_t, OpenFile> files_;
    NamesUnderWay under_way_;  // of files_, and of what the committer has: two would share a temporary file
    UseOrder open_files_;      // of files_, those that hold a descriptor
    std::vector<FinishedDirectory> directories_;
    std::uint64_t directory_bytes_ = 0;
    std::optional<FinishedDirectory> top_;         // the root, if that is to have what belongs to a source
    std::optional<std::string> latest_directory_;  // of the latest entry, if it was one ...
    std::string latest_kept_;                      // ... or if it was a file that was kept
    std::uint64_t latest_index_ = 0;
    std::deque<message::Entry> hard_links_;
    std::size_t hard_link_bytes_ = 0;
    std::optional<LinkCopy> copying_;
    Ending ending_ = Ending::files;
    std::uint64_t written_ = 0;
    DiskWatch disk_;     // of what is written ...
    DiskWatch commits_;  // ... and, on the committer's thread, of what gets its name
    OwnFiles own_files_;
    bool failed_here_ = false;  // not all failures were the sender's
    bool journal_closed_ = false;
    BasisFiles basis_;
    LostTimes lost_times_;
    LentRights lent_;
    ChangedDirectories unsynced_;  // where something was found as it is to be, or was deleted
    bool names_synced_ = false;
    std::optional<Eraser> eraser_;
    std::optional<ReceiveResume> resume_;
    std::unique_ptr<Committer> committer_;  // last: its task uses what stands above
};

}  // namespace udtx::transfer
