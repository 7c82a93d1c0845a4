// Files that are being received, from their entries until they are complete and get their names: what came of each,
// what of it is there already, and whether all of it is what was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "transfer/landing/held_bytes.hpp"
#include "transfer/landing/holdings.hpp"
#include "transfer/landing/target_tree.hpp"
#include "transfer/landing/use_order.hpp"
#include "transfer/pieces/file_verifier.hpp"
#include "transfer/pieces/piece_assembler.hpp"

namespace udtx::transfer {

/// Order of calls: as of TreeWriter. What is said of a file that failed, or was begun for nothing, is dropped.
class IncomingFiles {
  public:
    /// Both outlive it.
    IncomingFiles(TargetTree& tree, const Holdings& holdings);

    void begin(const message::Entry& entry, const std::string& path);
    /// Owner and attributes. False: no such file is under construction.
    bool set_meta(const message::Meta& meta);
    void write_piece(const WholePiece& piece);
    void check_digests(const message::Digests& digests);
    /// Pieces that are not sent since an answer had them; the first has that ordinal.
    void keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal);
    /// A part of the file without data.
    void make_hole(std::uint64_t index, const Extent& extent);
    /// `pieces`: how many the file was announced with. The path of one that was here and stays.
    std::optional<std::string> end(const message::FileEnd& end, std::uint64_t pieces);
    /// Nothing more comes: one that is not complete fails. False: there is none.
    bool fail_next();
    /// The temporary files go, but for those that another run can continue.
    void abandon();
    void clear() noexcept;

    /// So many bytes may be missing in the quota for the next piece of a file, and a look at the disk would tell: what
    /// is complete has its name now. 0: there is nothing to find out.
    [[nodiscard]] std::uint64_t missing_in_quota(std::uint64_t index, std::uint64_t piece);
    /// Bytes of pieces that were written, but for those of files that were begun and turned out to be there.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
    /// Empty: no such file is under construction.
    [[nodiscard]] std::string path_of(std::uint64_t index) const;

  private:
    struct File {
        std::string path;
        FileAttributes attributes;
        std::uint64_t size = 0;
        bool sparse = false;
        bool whole = false;
        std::optional<FileRange> part;  // other shards have the rest
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
        std::vector<ProvenPiece> part_pieces{};  // of `part`, as they came
        std::optional<message::FileEnd> end{};
        std::uint64_t pieces = 0;
        HeldBytes held{};  // of held_
    };
    [[nodiscard]] File* find(std::uint64_t index);
    /// More is begun and not finished than may be: the file fails.
    [[nodiscard]] bool too_much_unfinished(std::uint64_t index, File& file);

    /// Creates the temporary file or opens it again; another one may lose its descriptor for it.
    Result<void> ensure_open(std::uint64_t index, File& file);
    Result<void> make_temporary(std::uint64_t index, File& file);
    /// The same of one that other shards fill, too.
    Result<void> share_temporary(File& file);
    [[nodiscard]] static JobFile::Version version_of(const File& file) {
        return {file.path, file.size, file.attributes.mtime};
    }
    void note_part_piece(File& file, ProvenPiece piece);
    /// Its temporary file goes, unless other shards fill it, too.
    void remove_temporary(File& file);
    void limit_open_files();
    /// The sender may have begun it before it knew that the file is here, and end it so.
    [[nodiscard]] bool may_stand(const File& file);
    /// It may have holes, and where is not known before; or it has what other shards send.
    [[nodiscard]] bool is_sparse(const File& file) const { return file.sparse || file.part || tree_.options.sparse; }
    /// Room for all of an open file, once; with holes for the next of its pieces.
    Result<void> reserve(File& file, std::uint64_t piece);

    Result<void> store(std::uint64_t index, File& file, const WholePiece& piece);
    Result<void> keep_piece(File& file, const Extent& piece, std::uint64_t ordinal);
    void count_written(File& file, const Piece& piece);
    /// The file does not end as one that is there.
    void go_on(File& file);

    /// Size, mode and time.
    Result<void> complete(File& file);
    void settle_if_complete(std::uint64_t index, File& file);
    void commit(std::uint64_t index, File& file, bool replaces_directory);
    /// What makes a part known to the other shards, when it is on the disk.
    [[nodiscard]] std::function<Result<bool>(int)> fill_of(const File& file);
    /// The path of one that stays.
    std::optional<std::string> end_kept(std::uint64_t index, const File& file);
    /// Mode and time of a file that an earlier run delivered, or that was here.
    Result<void> refresh(const File& file);
    /// Nothing is to become of it, and that is no failure.
    void forget(std::uint64_t index);
    /// Fails a file under construction and forgets it.
    void drop(std::uint64_t index, const Error& error);
    [[nodiscard]] bool may_continue(File& file);

    TargetTree& tree_;
    const Holdings& holdings_;
    Hasher piece_hasher_;
    std::uint64_t held_ = 0;  // bytes of memory in files_
    std::unordered_map<std::uint64_t, File> files_;
    UseOrder open_files_;  // of files_, those that hold a descriptor
    std::uint64_t written_ = 0;
};

}  // namespace udtx::transfer
