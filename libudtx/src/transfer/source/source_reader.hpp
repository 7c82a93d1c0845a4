// Reads what the scanner found, hashes it on the way and packs it for the protocol thread, as a
// disk task.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/page_block.hpp"
#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
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
    bool announce_all = false;   ///< also files that are the same at the receiver, for a receipt
    bool tell_plan = false;      ///< the receiver asked for the dry run, and is told
    SentNames* sent = nullptr;   ///< of all connections; outlives the reader
    bool hard_links = false;     ///< other names of a file come as such
    bool set_id = false;         ///< special bits of files are kept
    bool tops = false;           ///< a source whose content goes has its mode, time and owner sent, too
    bool tell_warnings = false;  ///< the receiver asked for the transfer: its user hears of what was left out
};

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
    /// Files asked about before the receiver has said whether it has anything: about as much as the first round trip
    /// takes, so that asking opens the window as data would.
    static constexpr std::size_t kAskEarly = 256;
    struct OpenFile;
    /// Entries with something that is never sent.
    struct LeftOut {
        std::uint64_t count = 0;
        std::string first{};
        void add(const std::string& path) {
            if (count++ == 0) first = path;
        }
    };
    /// An entry, and the query about it if it was asked already.
    struct Candidate {
        ScannedEntry entry;
        std::optional<std::uint64_t> query;
    };
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
    void note_unreplaced(const ScannedEntry& entry);
    /// ENTRY of a directory or a link.
    void announce_unread(const ScannedEntry& entry);
    void begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query);
    /// Its ENTRY.
    void announce(OpenFile& file);
    /// FILE_END and what goes with it. The file is closed.
    void end_file(FileStatus status);
    /// Attributes that the receiver's version may have and ours has not.
    enum class Others { none, go };
    void tell_warnings();
    void send_meta(const ScannedEntry& entry, int fd, Others others);
    void plan(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes);
    /// What belongs to the entry beside its data, for the question.
    void add_belongings(const ScannedEntry& entry, message::Query& query);
    void plan_unread(const ScannedEntry& entry, const RemoteHolding& holding);
    void plan_file(ScannedEntry entry, RemoteHolding holding);
    void plan_changed(const ScannedEntry& entry, std::uint8_t changes);
    void warn_of(const LeftOut& left, const char* what) const;

    // --- what the receiver has already
    /// Takes what the scanner has found, until so many are waiting.
    void look_ahead(std::size_t most);
    void look_at(ScannedEntry entry);
    void note_unsent(std::string path);
    void flush_unsent();
    [[nodiscard]] std::uint64_t ask(const ScannedEntry& entry);
    /// Whether the receiver has said what it has, if anything, of what the query is about. Files are asked about
    /// meanwhile.
    [[nodiscard]] bool knows_answer(std::optional<std::uint64_t> query);
    void take_decision();
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
    ScanQueue& scanned_;
    JobReport& report_;
    ResumeAnswers& answers_;
    bool begun_ = false;
    bool decided_ = false;
    bool active_ = false;
    std::optional<Candidate> candidate_;         // the next to be sent
    std::chrono::steady_clock::time_point met_;  // it
    std::unique_ptr<OpenFile> file_;             // that is being sent
    std::deque<Candidate> waiting_;
    std::uint64_t waiting_bytes_ = 0;
    PageBlock block_;
    OutgoingPacker packer_;
    Hasher piece_hasher_;
    RootDigest root_;
    std::unordered_set<std::uint64_t> planned_;  // of a dry run with hard_links: files that would be sent, by path key
    /// With hard_links: names that did not get their file, by path key, and what was sent in place of each.
    std::unordered_map<std::uint64_t, std::string> unreplaced_;
    std::uint64_t next_index_ = 0;
    std::uint64_t data_bytes_ = 0;
    LeftOut special_bits_;    // entries that have them and are not to keep them ...
    LeftOut capabilities_;    // ... and files that ...
    LeftOut access_lists_;    // ... and entries that have these
    message::Unsent unsent_;  // names to be told
    std::size_t unsent_bytes_ = 0;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer
