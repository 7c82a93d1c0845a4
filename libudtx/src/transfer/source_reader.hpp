// Reads what the scanner found, hashes it on the way and packs it for the protocol thread. Runs on its own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file_digest.hpp"
#include "transfer/job_report.hpp"
#include "transfer/outgoing.hpp"
#include "transfer/resume_answers.hpp"
#include "transfer/scanner.hpp"
#include "transfer/source_tree.hpp"

namespace udtx::transfer {

class SourceReader {
  public:
    /// All outlive the reader. `answers`: null when nothing is to be resumed.
    SourceReader(const std::vector<SourceRoot>& roots, HashAlgorithm hash, ScanQueue& scanned, OutgoingQueue& out,
                 LateWaker& waker, JobReport& report, ResumeAnswers* answers);
    void copy_to(ReceiptWriter* receipt) { packer_.copy_to(receipt); }
    /// Until the scanner's queue is closed and empty, or the outgoing queue was closed.
    void run();
    /// Any thread: the receiver gave up on this entry; its rest need not be sent.
    void skip(std::uint64_t index) noexcept { skip_.store(index, std::memory_order_relaxed); }

  private:
    struct OpenFile;
    /// An entry, and the query about it if it was asked already.
    struct Candidate {
        ScannedEntry entry;
        std::optional<std::uint64_t> query;
    };
    void send(const Candidate& candidate);
    void send_file(const ScannedEntry& entry, RemoteHolding holding);

    // --- what the receiver has already
    /// The next entry; where there is something to resume, the files after it are asked about ahead.
    [[nodiscard]] std::optional<Candidate> next();
    void look_at(ScannedEntry entry);
    [[nodiscard]] std::uint64_t ask(const ScannedEntry& entry);
    [[nodiscard]] RemoteHolding wait_for_answer(std::uint64_t query);
    /// Takes note of whether there is something to resume; waits for it when enough was sent without knowing.
    void learn_decision();
    [[nodiscard]] RemoteHolding holding_of(const Candidate& candidate);
    /// Not to be looked at again before its end.
    [[nodiscard]] bool may_be_whole(std::uint64_t size) const;
    void send_kept(const ScannedEntry& entry);
    void count_kept(std::uint64_t bytes);
    /// Pieces that are the same at the receiver are left out, the rest is sent.
    FileStatus send_range(OpenFile& file, Extent range);
    /// From the front of the range, so many bytes are left out ...
    [[nodiscard]] std::uint64_t send_kept_run(OpenFile& file, const Extent& range);
    /// ... or are to be sent up to the next piece that might be left out.
    [[nodiscard]] std::uint64_t fresh_run(const OpenFile& file, const Extent& range) const;
    [[nodiscard]] Digest digest_of_source(const OpenFile& file, std::uint64_t offset, std::uint64_t length);

    /// So that the receiver knows of the file, and what became of it.
    void announce_unreadable(const ScannedEntry& entry, int error_number);
    /// Reads all extents; the status for FILE_END.
    FileStatus send_extents(OpenFile& file);
    /// One extent, cut into pieces. After a failure the rest of it is sent as zeros: the stream's mapping is fixed.
    FileStatus send_extent(OpenFile& file, const Extent& extent);
    FileStatus send_piece(OpenFile& file, std::uint64_t offset, std::uint64_t length);
    void send_zeros(std::uint64_t length);
    void add_digest(OpenFile& file, const Digest& digest);
    void flush_digests(OpenFile& file);
    void finish();
    void fail(const std::string& path, FileStatus status, int error_number);

    const std::vector<SourceRoot>& roots_;
    HashAlgorithm hash_;
    ScanQueue& scanned_;
    JobReport& report_;
    ResumeAnswers* answers_;
    bool decided_;
    bool active_ = false;
    std::deque<Candidate> waiting_;
    std::vector<std::byte> block_;
    OutgoingPacker packer_;
    Hasher piece_hasher_;
    RootDigest root_;
    std::uint64_t next_index_ = 0;
    std::uint64_t data_bytes_ = 0;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer
