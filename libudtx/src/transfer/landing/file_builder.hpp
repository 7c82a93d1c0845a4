// Builds one received file from its first byte to its final name: which pieces arrived, which existed already, and
// whether the whole file is what the sender sent.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "transfer/file/pieces.hpp"
#include "transfer/landing/old_content.hpp"
#include "transfer/landing/target_tree.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::transfer {

class FileBuilder;

/// The life of a file under construction. Its descriptor may be closed in any state, if other files need it.
enum class FileState : std::uint8_t {
    speculative,  ///< the sender may still find that the file exists here; at most its first piece has arrived
    building,     ///< the sender sends it to its end
    committing,   ///< everything matches, and size, owner, mode and time are set: the committer gets it
    gone,         ///< it failed or turned out to exist; another run may continue its temporary file
};
inline constexpr Step<FileState> kFileSteps[] = {
    {FileState::speculative, FileState::building},
    {FileState::speculative, FileState::gone},
    {FileState::building, FileState::committing},
    {FileState::building, FileState::gone},
};

/// What the files under construction of one tree share.
struct FilesUnderWay {
    TargetTree& tree;
    Hasher hasher;
    std::list<FileBuilder*> open{};  ///< those with a descriptor; the one used last comes last
    std::uint64_t written = 0;       ///< bytes of pieces, without those of files that turned out to exist
};

/// Order of calls: the pieces, digests and holes of the file in any order, and finish() after its announcement has
/// ended. After each of these settle(), which may make it `committing`: then submit(). Or end_kept() and forget(). An
/// error of any call ends with fail().
class FileBuilder {
  public:
    FileBuilder(FilesUnderWay& files, const message::Entry& entry, std::string path);
    ~FileBuilder() { leave_open_list(); }
    FileBuilder(const FileBuilder&) = delete;
    FileBuilder& operator=(const FileBuilder&) = delete;

    [[nodiscard]] FileState state() const noexcept { return state_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Bytes of memory that it holds.
    [[nodiscard]] std::uint64_t held() const noexcept;
    /// See IncomingFiles.
    [[nodiscard]] std::uint64_t missing_in_quota(std::uint64_t piece) const;

    Result<void> set_meta(const message::Meta& meta);
    Result<void> write(const WholePiece& piece);
    void expect(const message::Digests& digests);
    Result<void> keep(const Extent& extent, std::uint64_t first_ordinal);
    Result<void> make_hole(const Extent& extent);
    void finish(const message::FileEnd& end, std::uint64_t pieces);
    /// Completes the file once all of it has arrived and matches.
    Result<void> settle();
    void submit();
    /// The sender does not send the file because it exists. True: it stays, and may get owner and attributes.
    Result<bool> end_kept();

    /// Drops a file that will not be made.
    void forget();
    void fail(const Error& error);
    /// Removes the temporary file, unless another run can continue it.
    void abandon();
    /// Closes the descriptor until the next piece.
    void rest();

  private:
    /// The file will not end as one that exists: counts its first piece as written.
    void go_on();
    void leave_open_list();
    /// Creates the temporary file or opens it again. Another file may lose its descriptor for that.
    Result<void> ensure_open();
    Result<void> make_temporary();
    /// As make_temporary(), for a file that other shards fill too. There is none if the file is named_.
    Result<void> share_temporary();
    /// For a file that is named_: that range has these pieces, and holes elsewhere. refused: it has not.
    [[nodiscard]] Result<void> compare(const Extent& range, std::vector<ProvenPiece> pieces) const;
    void remove_temporary();
    [[nodiscard]] bool may_continue();
    /// True if the file may have holes at unknown places, or contains what other shards send.
    [[nodiscard]] bool is_sparse() const { return sparse_ || part_ || tree_.offer.sparse; }
    /// Finds room for the whole file, once. For a file that may have holes: finds room for the next piece.
    Result<void> reserve(std::uint64_t piece);
    Result<void> keep_piece(const Extent& piece, std::uint64_t ordinal);
    void note_piece(ProvenPiece piece);
    void note_written(const ProvenPiece& piece);
    /// Sets size, owner, mode and time.
    Result<void> complete();
    /// Sets mode and time of a file that an earlier run delivered, or that existed, and was `proven` in that state.
    Result<void> refresh(const struct stat& proven);
    [[nodiscard]] JobFile::Version version() const { return {path_, size_, attributes_.mtime}; }
    /// The function that reports a part to the other shards, when the part is on disk.
    [[nodiscard]] std::function<Result<bool>(int)> fill() const;

    FilesUnderWay& files_;
    TargetTree& tree_;
    const std::uint64_t index_;
    const std::string path_;
    const std::uint64_t size_;
    const bool sparse_;
    const std::optional<FileRange> part_;  // the part that is sent; other shards have the rest
    FileAttributes attributes_;
    Lifecycle<kFileSteps> state_{FileState::speculative};
    FileVerifier verifier_;
    std::optional<TempFile> temporary_;
    std::optional<std::list<FileBuilder*>::iterator> in_open_list_;
    std::optional<FileTime> had_;  // the time on disk when it was complete, if it could be set
    bool named_ = false;           // another shard completed it before this one opened it: it has its final name
    bool holes_ = false;
    bool replaces_directory_ = false;
    std::optional<std::uint64_t> reserved_;  // bytes, from the beginning of the file, once room was looked for
    std::uint64_t arrived_ = 0;              // bytes that were written or kept
    std::uint64_t first_written_ = 0;        // bytes of the first piece, while speculative
    UnsyncedPieces unsynced_;
    std::vector<ProvenPiece> part_pieces_;  // pieces of the part in order of arrival
    std::optional<ProvenPiece> last_;       // the piece at its end
    std::optional<message::FileEnd> end_;
    std::uint64_t pieces_ = 0;  // number that the file was announced with, once end_ is known
};

/// The files under construction. Order of calls: see TreeWriter. Calls for a file that failed, or that turned out to
/// exist, have no effect.
class IncomingFiles {
  public:
    /// Both must outlive this object.
    IncomingFiles(TargetTree& tree, const Holdings& holdings);

    void begin(const message::Entry& entry, const std::string& path);
    /// Sets owner and attributes of a file. False: no such file is under construction.
    bool set_meta(const message::Meta& meta);
    void write_piece(const WholePiece& piece);
    void check_digests(const message::Digests& digests);
    /// Takes pieces that are not sent because an answer reported them. The first of them has the ordinal
    /// `first_ordinal`.
    void keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal);
    /// Makes a hole: a part of the file without data.
    void make_hole(std::uint64_t index, const Extent& extent);
    /// `pieces`: the number of pieces that the file was announced with. Returns the path of a file that existed and
    /// stays.
    std::optional<std::string> end(const message::FileEnd& end, std::uint64_t pieces);
    /// Call it when nothing more arrives: an incomplete file fails. False: none is left.
    bool fail_next();
    /// Removes the temporary files, except those that another run can continue.
    void abandon();
    void clear() noexcept;

    /// Bytes of the next piece of a file that may not fit in the quota, if a look at the disk could find room for them.
    /// Complete files have their names by then. 0: no look is needed.
    [[nodiscard]] std::uint64_t missing_in_quota(std::uint64_t index, std::uint64_t piece);
    /// Bytes of pieces that were written, without those of files that were begun but turned out to exist.
    [[nodiscard]] std::uint64_t written() const noexcept { return under_way_.written; }
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
    /// Path of a file. Empty: no such file is under construction.
    [[nodiscard]] std::string path_of(std::uint64_t index) const;

  private:
    struct Slot {
        explicit Slot(FilesUnderWay& files, const message::Entry& entry, const std::string& path)
            : file(files, entry, path) {}
        FileBuilder file;
        std::uint64_t held = 0;  // its part of held_
    };
    using Slots = std::unordered_map<std::uint64_t, Slot>;

    [[nodiscard]] FileBuilder* find(std::uint64_t index);
    /// Calls `step` for a file, which returns a Result, and then does what has become possible with it.
    template <class Step>
    bool with(std::uint64_t index, const Step& step);
    /// refused: the sender has begun more than it may leave unfinished.
    Result<void> weigh(Slot& slot);
    Slots::node_type take_out(std::uint64_t index);
    void forget(std::uint64_t index);
    void drop(std::uint64_t index, const Error& error);

    TargetTree& tree_;
    const Holdings& holdings_;
    FilesUnderWay under_way_;
    std::uint64_t held_ = 0;  // bytes of memory in files_
    Slots files_;
};

}  // namespace udtx::transfer
