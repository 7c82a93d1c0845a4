// Sends one file after the other: its entry, its data and the digests of its pieces, its end. What the receiver has of
// it is left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/file_digest.hpp"
#include "transfer/source/entry_announcer.hpp"
#include "transfer/source/extent_cursor.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/source_counts.hpp"
#include "transfer/source/source_file.hpp"
#include "transfer/source/unreplaced_names.hpp"

namespace udtx::transfer {

class FileSender {
  public:
    /// All outlive it.
    FileSender(HashAlgorithm hash, OutgoingPacker& packer, EntryAnnouncer& announcer, Inquiries& inquiries,
               SourceCounts& counts, UnreplacedNames& unreplaced);

    /// Not while it is busy.
    void begin(SourceFile file);
    [[nodiscard]] bool busy() const noexcept { return file_.has_value(); }
    /// The next piece; or how to wait for what has to be known before.
    [[nodiscard]] std::optional<DiskStep> go_on();
    /// Any thread: the receiver gave up on this entry; its rest need not be sent.
    void skip(std::uint64_t index) noexcept { skip_.store(index, std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }
    /// Of the files that were sent whole; once.
    [[nodiscard]] Digest root() { return root_.finish(); }

  private:
    struct Open {
        SourceFile source;
        FileDigest digest;
        ExtentCursor cursor;
        bool whole = false;
        std::uint64_t index = 0;
        bool comparing = false;  ///< with what the receiver turned out to have
        Extent range{};          ///< of the file, that is to be sent or left out next ...
        Extent fresh{};          ///< ... after this, which is to be sent
        std::uint64_t first_unsent_digest = 0;
        std::vector<Digest> digests{};
        std::uint64_t sent = 0;
        int error = 0;
    };
    void announce();
    std::optional<DiskStep> begin_extent();
    /// What the receiver has of it; rests until that is known.
    std::optional<DiskStep> await_holding();
    void learn_holding();
    void compare();
    /// Pieces that are the same at the receiver are left out, the rest is sent.
    void send_range();
    /// From the front of the range, so many bytes.
    [[nodiscard]] std::uint64_t leave_out(const Extent& range);
    void will_send(const Extent& extent);
    /// A piece of what is fresh. After a failure the rest of that is sent as zeros: the stream's mapping is fixed.
    void send_fresh();
    FileStatus send_piece(std::uint64_t offset, std::uint64_t length);
    void send_zeros(std::uint64_t length);
    void add_digest(const ProvenPiece& piece);
    void flush_digests();
    /// All of it was read; the status for FILE_END.
    [[nodiscard]] FileStatus check_read();
    /// FILE_END and what goes with it. The file is closed.
    void end(FileStatus status);

    const HashAlgorithm hash_;
    OutgoingPacker& packer_;
    EntryAnnouncer& announcer_;
    Inquiries& inquiries_;
    SourceCounts& counts_;
    UnreplacedNames& unreplaced_;
    Hasher piece_hasher_;
    RootDigest root_;
    std::optional<Open> file_;
    std::uint64_t data_bytes_ = 0;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer
