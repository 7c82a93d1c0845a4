// Sends one file: finds its data, reads, hashes and packs it.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/scanner.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

// Finds where a file holds data, piece by piece while the file is read.

/// Longest extent that is announced at once. If the file fails midway, at either end, the rest of the extent must still
/// be sent.
inline constexpr std::uint64_t kSentExtentBytes = 8U << 20U;

/// True if it occupies less than its size: it has holes, or the file system compresses it.
[[nodiscard]] bool may_have_holes(const struct stat& st) noexcept;

class ExtentCursor {
  public:
    enum class Holes { as_told, read };

    /// Covers the bytes in `range` of a file with the state `st`. `reader` outlives the cursor.
    ///
    /// as_told: the file system's word on holes is believed if nothing else contradicts it. Otherwise the bytes are
    /// read, and only those that read as zeros are left out.
    ExtentCursor(int fd, const struct stat& st, const Extent& range, PieceHasher& reader, Holes holes = Holes::as_told);
    /// The next extent, ascending, at most kSentExtentBytes; nullopt at the end. An empty one only says that there were
    /// zeros so far.
    [[nodiscard]] std::optional<Extent> next();

  private:
    /// The same, where no word on holes is believed.
    [[nodiscard]] std::optional<Extent> next_read();
    /// Length of the block at at_, which ends with the range at the latest.
    [[nodiscard]] std::uint64_t block() const;

    int fd_;
    PieceHasher* reader_;
    std::uint64_t at_;
    std::uint64_t end_;
    std::optional<std::vector<Extent>> data_;  // nullopt: the bytes must be read
    std::size_t next_data_ = 0;
};

/// An open file of the sources, and what the receiver has of it.
struct SourceFile {
    ScannedEntry entry;
    UniqueFd fd;
    struct stat before = {};  ///< state before it was read
    KeptPieces kept;
    std::optional<std::uint64_t> query{};  ///< the open query, if sending starts before its answer

    /// True if nothing says that it was changed since. It is the same file even if its inode number differs, as it may
    /// on FUSE.
    [[nodiscard]] bool stands(struct stat& now) const {
        if (::fstat(fd.get(), &now) != 0) return false;
        return same_times(before, now) && before.st_size == now.st_size;
    }
    [[nodiscard]] bool stands() const {
        struct stat now = {};
        return stands(now);
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(before.st_size); }
    /// The bytes of it that are sent.
    [[nodiscard]] Extent range() const { return entry.part.value_or(Extent{0, size()}); }
    /// True if the receiver may have all of it, under its name.
    [[nodiscard]] bool may_be_same() const { return kept.has() == Holding::all_pieces && size() == entry.size; }
    /// Compares another piece. It returns whether all pieces are the same, once that is known.
    [[nodiscard]] std::optional<bool> compare(Announcer& announcer) {
        const std::uint64_t done = kept.same_until();
        const auto same = kept.compare(fd.get(), size());
        announcer.compared(kept.same_until() - done);
        return same;
    }
};

// Sends one file after the other: its entry, its data, the digests of its pieces and its end. It leaves out what the
// receiver has of the file.

class FileSender {
  public:
    /// All arguments outlive it.
    FileSender(HashAlgorithm hash, PieceHasher& reader, OutgoingPacker& packer, Announcer& announcer,
               Inquiries& inquiries)
        : hash_(hash),
          packer_(packer),
          announcer_(announcer),
          inquiries_(inquiries),
          reader_(reader),
          piece_hasher_(hash),
          root_(hash) {}

    /// Call it only while busy() is false.
    void begin(SourceFile file);
    [[nodiscard]] bool busy() const noexcept { return file_.has_value(); }
    /// Handles the next piece. It returns how to wait if it needs an answer first.
    [[nodiscard]] std::optional<DiskStep> go_on();
    /// Any thread: the receiver gave up on this entry, so its rest need not be sent.
    void skip(std::uint64_t index) noexcept { skip_.store(index, std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }
    /// Root digest of the files that were sent whole; call it once.
    [[nodiscard]] Digest root() { return root_.finish(); }

  private:
    /// It covers all that is sent or left out. If the digest is the same, and holes read as zeros, then the file had
    /// this content at the moment between both readings.
    struct SecondReading {
        Digest first;
        FileDigest digest;
        std::uint64_t at = 0;
        std::size_t next = 0;  ///< of Open::read
        bool grew = false;
    };
    struct Open {
        SourceFile source;
        FileDigest digest;
        ExtentCursor cursor;
        bool whole = false;
        std::uint64_t index = 0;
        bool comparing = false;  ///< with the pieces that the receiver has, according to its late answer
        Extent range{};          ///< of the file: to be sent or left out, after `fresh`
        Extent fresh{};          ///< the extent that is being sent
        std::uint64_t first_unsent_digest = 0;
        std::vector<Digest> digests{};
        std::uint64_t sent = 0;
        int error = 0;
        std::vector<Extent> read{};  ///< what was read, sent or not; joined where nothing is between
        std::optional<SecondReading> again{};
    };
    std::optional<DiskStep> begin_extent();
    /// Learns what the receiver has of the file; rests until that is known.
    std::optional<DiskStep> await_holding();
    void learn_holding();
    void compare();
    /// Leaves out the pieces at the front that the receiver has, or sends those that differ.
    void send_range();
    /// Leaves out pieces at the front of the range, and returns their bytes.
    [[nodiscard]] std::uint64_t leave_out(const Extent& range);
    void will_send(const Extent& extent);
    /// Sends a piece of `fresh`. After a failure it sends the rest of `fresh` as zeros, since the stream's mapping is
    /// fixed.
    void send_fresh();
    FileStatus send_piece(std::uint64_t offset, std::uint64_t length);
    void send_zeros(std::uint64_t length);
    void add_digest(const ProvenPiece& piece);
    void flush_digests();
    /// Checks the file after all of it was read. If it may have been changed meanwhile, a second reading begins.
    void check_read();
    /// True if there is data at the end, though nothing says that the file grew.
    [[nodiscard]] bool has_more();
    /// Reads another piece, or a part of a hole, for the second time.
    void read_again();
    void end_reading_again();
    /// Sends FILE_END and what belongs to it, and closes the file.
    void end(FileStatus status);

    const HashAlgorithm hash_;
    OutgoingPacker& packer_;
    Announcer& announcer_;
    Inquiries& inquiries_;
    PieceHasher& reader_;
    Hasher piece_hasher_;
    RootDigest root_;
    std::optional<Open> file_;
    std::uint64_t data_bytes_ = 0;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer
