// Reads what the scanner found, hashes it on the way and packs it for the protocol thread, as a disk task. What of it
// stands at the receiver is left out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/job_report.hpp"
#include "transfer/pieces/piece_hasher.hpp"
#include "transfer/source/dry_plan.hpp"
#include "transfer/source/entry_announcer.hpp"
#include "transfer/source/file_sender.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/read_options.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_counts.hpp"
#include "transfer/source/source_file.hpp"
#include "transfer/source/source_tree.hpp"
#include "transfer/source/unreplaced_names.hpp"

namespace udtx::transfer {

class SourceReader {
  public:
    /// All but the options outlive the reader.
    SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned, OutgoingQueue& out,
                 LateWaker& waker, JobReport& report, ResumeAnswers& answers);
    void copy_to(ReceiptWriter* receipt) { packer_.copy_to(receipt); }
    /// Goes on until the scanner's queue is closed and empty, or the outgoing queue was closed. Rests while the scanner
    /// has nothing, the outgoing queue is full or the receiver has not answered.
    [[nodiscard]] DiskStep step();
    /// As FileSender::skip().
    void skip(std::uint64_t index) noexcept { sender_.skip(index); }

  private:
    using Candidate = Inquiries::Candidate;
    /// What a part of the work came to: nothing to wait for, or how to wait.
    using Wait = std::optional<DiskStep>;
    [[nodiscard]] Wait go_on();
    [[nodiscard]] Wait take_next();
    /// What is known of the candidate is enough, or how to wait for more.
    [[nodiscard]] Wait wait_to_send();
    /// It is small enough to be sent with the question about it.
    [[nodiscard]] bool goes_ahead(const Candidate& next) const;
    void send(Candidate candidate);
    /// Other names of a file go as links, unless the one that they lead to stays what it was at the receiver: then the
    /// first of them is sent, and the others lead there.
    void send_hard_link(ScannedEntry entry);
    /// Nothing of the file is to be sent, for what the receiver has.
    [[nodiscard]] bool leave_out(const ScannedEntry& entry, const RemoteHolding& holding);
    /// Opens it; where all of it may be at the receiver, that is found out first.
    void begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query);
    void cannot_read(const ScannedEntry& entry, std::uint8_t changes, FileStatus why, int error_number);
    void compare();
    void end_comparing(SourceFile file, bool same);
    void finish();

    const std::vector<SourceRoot>& roots_;
    ReadOptions options_;
    JobReport& report_;
    bool begun_ = false;
    std::optional<Candidate> candidate_;         // the next to be sent
    std::chrono::steady_clock::time_point met_;  // it
    std::uint64_t ahead_bytes_ = 0;              // of files that were sent with the question about them
    std::optional<SourceFile> compared_;
    OutgoingPacker packer_;
    EntryAnnouncer announcer_;
    DryPlan plan_;
    Inquiries inquiries_;
    SourceCounts counts_;
    UnreplacedNames unreplaced_;  // with hard_links
    PieceHasher piece_hasher_;
    FileSender sender_;
};

}  // namespace udtx::transfer
