// Reads what the scanner found, hashes it on the way and packs it for the protocol thread, as a
// disk task.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/page_block.hpp"
#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file_digest.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/dry_plan.hpp"
#include "transfer/source/entry_announcer.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/read_options.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"
#include "transfer/source/unreplaced_names.hpp"

namespace udtx::transfer {

class SourceReader {
  public:
    /// All but the options outlive the reader.
    SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned, OutgoingQueue& out,
                 LateWaker& waker, JobReport& report, ResumeAnswers& answers);
    ~SourceReader();
    void copy_to(ReceiptWriter* receipt) { packer_.copy_to(receipt); }
    /// Goes on until the scanner's queue is closed and empty, or the outgoing queue was closed. Rests while the scanner
    /// has nothing, the outgoing queue is full or the receiver has not answered.
    [[nodiscard]] DiskStep step();
    /// Any thread: the receiver gave up on this entry; its rest need not be sent.
    void skip(std::uint64_t index) noexcept { skip_.store(index, std::memory_order_relaxed); }

  private:
    struct OpenFile;
    using Candidate = Inquiries::Candidate;
    /// What a part of the work came to: nothing to wait for, or how to wait.
    using Wait = std::optional<DiskStep>;
    [[nodiscard]] Wait go_on();
    [[nodiscard]] Wait take_next();
    void meet(const ScannedEntry& entry);
    /// What is known of the candidate is enough, or how to wait for more.
    [[nodiscard]] Wait wait_to_send();
    void send(Candidate candidate);
    /// So many bytes of it, by an earlier connection.
    [[nodiscard]] std::optional<std::uint64_t> sent_earlier(const ScannedEntry& entry) const;
    /// It is at the receiver, which does not count it as delivered by this connection.
    void note_standing(const ScannedEntry& entry);
    void send_unread(const ScannedEntry& entry);
    void send_top();
    /// Other names of a file go as links, unless the one that they lead to stays what it was at the receiver: then the
    /// first of them is sent, and the others lead there.
    void send_hard_link(ScannedEntry entry);
    void begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query);
    /// Its ENTRY.
    void announce(OpenFile& file);
    /// FILE_END and what goes with it. The file is closed.
    void end_file(FileStatus status);
    void plan_file(ScannedEntry entry, RemoteHolding holding);

    // --- what the receiver has already
    /// The receiver has not spoken for a while, and the file is long enough that its first block opens the window
    /// meanwhile: it may be begun, then.
    [[nodiscard]] bool may_begin(const Candidate& candidate) const;
    /// What the receiver has of a file that was begun: ok, but for kept and skipped: nothing more is to be sent.
    FileStatus learn_holding(OpenFile& file);
    void count_unsent(const ScannedEntry& entry);
    void send_kept(const ScannedEntry& entry, Holding has);
    /// So many of the bytes were compared, and counted then.
    void count_kept(std::uint64_t bytes, std::uint64_t counted);
    /// All of the file may be at the receiver, under its name.
    [[nodiscard]] static bool may_be_same(const OpenFile& file);
    /// Compares a piece. When it is known whether all are the same, what follows from that.
    void compare_more(OpenFile& file);
    void end_comparing(OpenFile& file, bool same);
    void forget_compared(OpenFile& file);
    /// Pieces that are the same at the receiver are left out, the rest is sent.
    void send_range(OpenFile& file);
    /// From the front of the range, so many bytes are left out ...
    [[nodiscard]] std::uint64_t send_kept_run(OpenFile& file, const Extent& range);
    /// ... or are to be sent up to the next piece that might be left out.
    [[nodiscard]] std::uint64_t fresh_run(const OpenFile& file, const Extent& range) const;
    [[nodiscard]] Digest digest_of_source(const OpenFile& file, std::uint64_t offset, std::uint64_t length);

    /// So that the receiver knows of the file, and what became of it.
    void announce_unreadable(const ScannedEntry& entry, int error_number);
    /// The next piece, or what has to be known before.
    [[nodiscard]] Wait send_more(OpenFile& file);
    Wait begin_extent(OpenFile& file);
    /// What the receiver has of it; rests until that is known.
    Wait await_holding(OpenFile& file);
    /// A piece of what is fresh. After a failure the rest of that is sent as zeros: the stream's mapping is fixed.
    void send_fresh(OpenFile& file);
    void will_send(OpenFile& file, const Extent& extent);
    /// All of it was read; the status for FILE_END.
    [[nodiscard]] FileStatus check_read(OpenFile& file) const;
    FileStatus send_piece(OpenFile& file, std::uint64_t offset, std::uint64_t length);
    void send_zeros(std::uint64_t length);
    void add_digest(OpenFile& file, const Digest& digest);
    void flush_digests(OpenFile& file);
    void finish();
    void fail(const std::string& path, FileStatus status, int error_number);

    const std::vector<SourceRoot>& roots_;
    ReadOptions options_;
    JobReport& report_;
    ResumeAnswers& answers_;
    bool begun_ = false;
    std::optional<Candidate> candidate_;         // the next to be sent
    std::chrono::steady_clock::time_point met_;  // it
    std::unique_ptr<OpenFile> file_;             // that is being sent
    PageBlock block_;
    OutgoingPacker packer_;
    EntryAnnouncer announcer_;
    DryPlan plan_;
    Inquiries inquiries_;
    UnreplacedNames unreplaced_;  // with hard_links
    Hasher piece_hasher_;
    RootDigest root_;
    std::uint64_t data_bytes_ = 0;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer
