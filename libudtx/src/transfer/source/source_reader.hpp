// Reads what the scanner found, hashes it and packs it for the protocol thread, as a disk task. It leaves out what the
// receiver has already.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/entry_announcer.hpp"
#include "transfer/source/file_sender.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"

namespace udtx::transfer {

class SourceReader {
  public:
    /// All arguments but the options outlive the reader.
    SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned, OutgoingQueue& out,
                 LateWaker& waker, JobReport& report, ResumeAnswers& answers);
    void copy_to(ReceiptWriter* receipt) { packer_.copy_to(receipt); }
    /// Continues until the scanner's queue is closed and empty, or the outgoing queue was closed. It rests while the
    /// scanner has nothing, the outgoing queue is full or the receiver has not answered.
    [[nodiscard]] DiskStep step();
    /// As FileSender::skip().
    void skip(std::uint64_t index) noexcept { sender_.skip(index); }

  private:
    using Candidate = Inquiries::Candidate;
    /// Result of a part of the work: nullopt to continue, or how to wait.
    using Wait = std::optional<DiskStep>;
    [[nodiscard]] Wait go_on();
    [[nodiscard]] Wait take_next();
    /// nullopt: enough is known of the candidate; otherwise how to wait for more.
    [[nodiscard]] Wait wait_to_send();
    /// True if the file is small enough to be sent together with its query.
    [[nodiscard]] bool goes_ahead(const Candidate& next) const;
    void send(Candidate candidate);
    /// Sends other names of a file as links. If the receiver keeps its own version under the link's target, the first
    /// such name is sent as a file. The others then link to that one.
    void send_hard_link(ScannedEntry entry);
    void send_as_file(ScannedEntry link);
    void ask_again(ScannedEntry entry);
    /// In a dry run, what send_hard_link() does is also done with links.
    void plan_unread(ScannedEntry entry, const RemoteHolding& holding);
    /// True if nothing of the file needs to be sent, because of what the receiver has.
    [[nodiscard]] bool leave_out(const ScannedEntry& entry, const RemoteHolding& holding);
    /// Opens the file. If the receiver may have all of it, the pieces are compared first. A file that was written a
    /// moment ago is opened again when a later write would show in its times: `settled`.
    void begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query,
                    bool settled = false);
    [[nodiscard]] Error why_unreadable(const ScannedEntry& entry, int error_number) const;
    void cannot_read(const ScannedEntry& entry, std::uint8_t changes, Error why);
    void compare();
    void end_comparing(SourceFile file, bool same);
    void finish();

    const std::vector<SourceRoot>& roots_;
    ReadOptions options_;
    JobReport& report_;
    bool begun_ = false;
    std::optional<Candidate> candidate_;         // the next to be sent
    std::chrono::steady_clock::time_point met_;  // when candidate_ was taken
    std::uint64_t ahead_bytes_ = 0;              // of files that were sent together with their query
    struct Fresh {
        ScannedEntry entry;
        RemoteHolding holding;
        std::optional<std::uint64_t> query;
        std::chrono::steady_clock::time_point until;
    };
    std::optional<Fresh> fresh_;  // the next to be begun
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
