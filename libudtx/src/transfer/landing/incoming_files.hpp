// Adds the memory of one object to a sum for as long as the object lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transfer/file/pieces.hpp"
#include "transfer/landing/holdings.hpp"
#include "transfer/landing/piece_assembler.hpp"
#include "transfer/landing/target_tree.hpp"

namespace udtx::transfer {

class HeldBytes {
  public:
    HeldBytes() = default;
    /// `sum` must outlive this object.
    explicit HeldBytes(std::uint64_t& sum) noexcept : sum_(&sum) {}
    HeldBytes(HeldBytes&& other) noexcept
        : sum_(std::exchange(other.sum_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    HeldBytes& operator=(HeldBytes&& other) noexcept {
        std::swap(sum_, other.sum_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~HeldBytes() { set(0); }
    void set(std::uint64_t bytes) noexcept {
        if (sum_ != nullptr) *sum_ += bytes - bytes_;
        bytes_ = bytes;
    }

  private:
    std::uint64_t* sum_ = nullptr;
    std::uint64_t bytes_ = 0;
};

// Finds the number in a set that was used longest ago.

class UseOrder {
  public:
    /// Adds `number`, or marks it as the one used last.
    void touch(std::uint64_t number) {
        const auto [at, added] = places_.try_emplace(number);
        if (added) {
            at->second = order_.insert(order_.end(), number);
        } else {
            order_.splice(order_.end(), order_, at->second);
        }
    }
    void forget(std::uint64_t number) {
        const auto at = places_.find(number);
        if (at == places_.end()) return;
        order_.erase(at->second);
        places_.erase(at);
    }
    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
    /// Call it only if size() > 0.
    [[nodiscard]] std::uint64_t oldest() const { return order_.front(); }

  private:
    std::list<std::uint64_t> order_;
    std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

// Files under construction, from their entries until they are complete and get their names: which pieces arrived, which
// existed already, and whether the whole file is what the sender sent.

/// Order of calls: see TreeWriter. Calls for a file that failed, or that turned out to exist, have no effect.
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
    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
    /// Path of a file. Empty: no such file is under construction.
    [[nodiscard]] std::string path_of(std::uint64_t index) const;

  private:
    struct File {
        std::string path;
        FileAttributes attributes;
        std::uint64_t size = 0;
        bool sparse = false;
        bool whole = false;
        std::optional<FileRange> part;  // the part that is sent; other shards have the rest
        FileVerifier verifier;
        std::optional<TempFile> file{};
        bool completed = false;         // size, mode and time are set
        std::optional<FileTime> had{};  // the time on disk at that moment, if it could be set
        bool holes = false;
        bool looked_for_room = false;
        std::uint64_t reserved = 0;       // bytes, from the beginning of the file
        std::uint64_t arrived = 0;        // bytes that were written or kept
        bool goes_on = false;             // more than the first piece arrives, or it is the only one
        std::uint64_t first_written = 0;  // bytes of the first piece, until goes_on
        UnsyncedPieces unsynced{};
        std::vector<ProvenPiece> part_pieces{};  // pieces of `part` in order of arrival
        std::optional<ProvenPiece> last{};       // the piece at its end
        std::optional<message::FileEnd> end{};
        std::uint64_t pieces = 0;
        HeldBytes held{};  // its part of held_
    };
    [[nodiscard]] File* find(std::uint64_t index);
    /// True: the sender has begun more than it may leave unfinished, and the file fails.
    [[nodiscard]] bool too_much_unfinished(std::uint64_t index, File& file);

    /// Creates the temporary file or opens it again. Another file may lose its descriptor for that.
    Result<void> ensure_open(std::uint64_t index, File& file);
    Result<void> make_temporary(std::uint64_t index, File& file);
    /// As make_temporary(), for a file that other shards fill too.
    Result<void> share_temporary(File& file);
    [[nodiscard]] static JobFile::Version version_of(const File& file) {
        return {file.path, file.size, file.attributes.mtime};
    }
    void note_piece(File& file, ProvenPiece piece);
    /// Removes the temporary file, unless other shards fill it too.
    void remove_temporary(File& file);
    void limit_open_files();
    /// True if the file may exist already: the sender may have begun it before it knew that, and may end it as kept.
    [[nodiscard]] bool may_stand(const File& file);
    /// True if the file may have holes at unknown places, or contains what other shards send.
    [[nodiscard]] bool is_sparse(const File& file) const { return file.sparse || file.part || tree_.options.sparse; }
    /// Finds room for the whole file, once. For a file that may have holes: finds room for the next piece.
    Result<void> reserve(File& file, std::uint64_t piece);

    Result<void> store(std::uint64_t index, File& file, const WholePiece& piece);
    Result<void> keep_piece(File& file, const Extent& piece, std::uint64_t ordinal);
    void count_written(File& file, const Piece& piece);
    /// Call it for a file that will not end as one that exists: counts its first piece as written.
    void go_on(File& file);

    /// Sets size, owner, mode and time.
    Result<void> complete(File& file);
    void settle_if_complete(std::uint64_t index, File& file);
    void commit(std::uint64_t index, File& file, bool replaces_directory);
    /// Reads what other shards filled, if another program may have changed it.
    Result<void> check_others(const JobFile::Version& version, const FileRange& part);
    /// Records that this run writes no more into a file that other shards fill too.
    void note_left(const File& file);
    /// The function that reports a part to the other shards, when the part is on disk.
    [[nodiscard]] std::function<Result<bool>(int)> fill_of(const File& file);
    /// Ends a file that was not sent because it exists. Returns its path if it stays.
    std::optional<std::string> end_kept(std::uint64_t index, const File& file);
    /// Sets mode and time of a file that an earlier run delivered, or that existed, and was `proven` in that state.
    Result<void> refresh(const File& file, const struct stat& proven);
    /// Drops a file that will not be made, without a failure.
    void forget(std::uint64_t index);
    /// Fails a file under construction and forgets it.
    void drop(std::uint64_t index, const Error& error);
    [[nodiscard]] bool may_continue(File& file);

    TargetTree& tree_;
    const Holdings& holdings_;
    Hasher piece_hasher_;
    std::uint64_t held_ = 0;  // bytes of memory in files_
    std::unordered_map<std::uint64_t, File> files_;
    UseOrder open_files_;  // files in files_ that hold a descriptor
    std::uint64_t written_ = 0;
};

}  // namespace udtx::transfer
