// Reads what the scanner found, hashes it on the way and packs it for the protocol thread. Runs on its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/page_block.hpp"
#include "transfer/checksum.hpp"
#include "transfer/file_digest.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/sent_names.hpp"
#include "transfer/source/source_tree.hpp"

namespace udtx::transfer {

struct ReadOptions {
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    bool owner = false;       ///< send the numbers of user and group
    bool attributes = false;  ///< send the user's extended attributes
    bool preserve = false;    ///< modes are to be kept: what of them never is is told
    bool dry_run = false;     ///< ask about everything, send nothing
    PlanCallback planned{};   ///< of a dry run
    /// Sent before the end.
    std::vector<message::Rules> rules{};
    bool announce_all = false;  ///< also files that are the same at the receiver, for a receipt
    bool tell_plan = false;     ///< the receiver asked for the dry run, and is told
    SentNames* sent = nullptr;  ///< of all connections; outlives the reader
    bool hard_links = false;    ///< other names of a file come as such
};

class SourceReader {
  public:
    /// All but the options outlive the reader.
    SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned, OutgoingQueue& out,
                 LateWaker& waker, JobReport& report, ResumeAnswers& answers);
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
    /// So many bytes of it, by an earlier connection.
    [[nodiscard]] std::optional<std::uint64_t> sent_earlier(const ScannedEntry& entry) const;
    /// It is at the receiver, which does not count it as delivered by this connection.
    void note_standing(const ScannedEntry& entry);
    void send_unread(const ScannedEntry& entry);
    /// ENTRY of a directory or a link.
    void announce_unread(const ScannedEntry& entry);
    void send_file(const ScannedEntry& entry, RemoteHolding holding, std::optional<std::uint64_t> query);
    /// FILE_END and what goes with it.
    void end_file(OpenFile& file, FileStatus status);
    /// Attributes that the receiver's version may have and ours has not.
    enum class Others { none, go };
    void send_meta(const ScannedEntry& entry, int fd, Others others);
    void plan(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes);
    /// What belongs to the entry beside its data, for the question.
    void add_belongings(const ScannedEntry& entry, message::Query& query);
    void plan_unread(const Candidate& candidate);
    void plan_file(const ScannedEntry& entry, RemoteHolding holding);

    // --- what the receiver has already
    /// The next entry; the files after it are asked about ahead, unless the receiver has nothing.
    [[nodiscard]] std::optional<Candidate> next();
    /// Takes what the scanner has found, until so many are waiting.
    void look_ahead(std::size_t most);
    void look_at(ScannedEntry entry);
    [[nodiscard]] std::uint64_t ask(const ScannedEntry& entry);
    [[nodiscard]] RemoteHolding wait_for_answer(std::uint64_t query);
    /// Waits for the receiver to say whether it has something; meanwhile files are asked about.
    void learn_decision();
    void look_for_decision();
    /// The receiver's word, if it comes so soon.
    void take_decision(std::chrono::milliseconds at_most);
    [[nodiscard]] RemoteHolding holding_of(const Candidate& candidate);
    /// The receiver has not spoken for a while, and the file is long enough that its first block opens the window
    /// meanwhile.
    [[nodiscard]] bool may_begin(const Candidate& candidate);
    /// What the receiver has of a file that was begun. kept, skipped: nothing more is to be sent.
    FileStatus learn_holding(OpenFile& file);
    void count_unsent(const ScannedEntry& entry);
    void send_kept(const ScannedEntry& entry, Holding has);
    /// So many of the bytes were compared, and counted then.
    void count_kept(std::uint64_t bytes, std::uint64_t counted);
    /// All of the file is at the receiver, under its name. Notes how far it is.
    [[nodiscard]] bool same_content(OpenFile& file);
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
    ReadOptions options_;
    ScanQueue& scanned_;
    JobReport& report_;
    ResumeAnswers& answers_;
    bool decided_ = false;
    bool active_ = false;
    std::deque<Candidate> waiting_;
    std::uint64_t waiting_bytes_ = 0;
    PageBlock block_;
    OutgoingPacker packer_;
    Hasher piece_hasher_;
    RootDigest root_;
    std::unordered_set<std::uint64_t> planned_;  // of a dry run with hard_links: files that would be sent, by path key
    std::uint64_t next_index_ = 0;
    std::uint64_t data_bytes_ = 0;
    std::uint64_t special_bits_ = 0;  // entries that have them
    std::string first_special_;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer
