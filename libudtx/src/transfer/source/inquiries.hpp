// Asks the receiver what it has of each file, and compares its answers with the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

// What the receiver says it has, passed from the sender's protocol thread to its disk task.

/// What the receiver has of one file.
struct RemoteHolding {
    Holding has = Holding::nothing;
    std::unordered_map<std::uint64_t, ProvenPiece> pieces;  ///< by offset
    std::uint8_t changes = 0;                               ///< of a dry run
};

class ResumeAnswers {
  public:
    /// `news` is called when a waiting task should check again. Call this before the disk task's first step.
    void call(std::function<void()> news) {
        const Lock lock(mutex_);
        news_ = std::move(news);
    }

    // --- protocol thread
    void decide(const message::Resume& resume);
    /// Any thread. Assumes that the receiver has nothing, so that no query is needed. It has no effect once the
    /// receiver has answered.
    void presume_nothing();
    /// protocol: there was no such query, or all answers together have more pieces than a journal can hold.
    [[nodiscard]] Result<void> add(const message::Answer& answer);
    /// Any thread: memory of answers that were not taken.
    [[nodiscard]] std::uint64_t held() const {
        const Lock lock(mutex_);
        return pieces_ * kPieceCost + open_.size() * sizeof(Slot);
    }
    /// Any thread. Ends all waiting.
    void cancel();

    // --- disk task
    /// Whether the receiver has something; nullopt: it has not said so yet.
    [[nodiscard]] std::optional<bool> decision() const;
    /// Valid once decided: files that are the same must be announced as well.
    [[nodiscard]] bool announce_all() const;
    /// Registers a query and returns its number.
    [[nodiscard]] std::uint64_t ask();
    /// True if the answer is here, or none will come.
    [[nodiscard]] bool answered(std::uint64_t number) const;
    /// The answer to a query; take each once.
    [[nodiscard]] RemoteHolding take(std::uint64_t number);
    /// Instead of take(): the answer will be ignored.
    void forget(std::uint64_t number);

  private:
    static constexpr std::uint64_t kPieceCost = sizeof(ProvenPiece) + 40;
    struct Slot {
        RemoteHolding holding;
        bool complete = false;
        bool forgotten = false;
    };
    void erase(std::unordered_map<std::uint64_t, Slot>::iterator at) REQUIRES(mutex_) {
        pieces_ -= at->second.holding.pieces.size();
        open_.erase(at);
    }
    void tell() const {
        std::function<void()> news;
        {
            const Lock lock(mutex_);
            news = news_;
        }
        if (news) news();
    }

    mutable Mutex mutex_;
    std::function<void()> news_ GUARDED_BY(mutex_);
    std::optional<bool> active_ GUARDED_BY(mutex_);
    bool announce_all_ GUARDED_BY(mutex_) = false;
    std::unordered_map<std::uint64_t, Slot> open_ GUARDED_BY(mutex_);  // asked and not taken
    std::uint64_t next_ GUARDED_BY(mutex_) = 0;
    std::uint64_t pieces_ GUARDED_BY(mutex_) = 0;  // in open_
    bool cancelled_ GUARDED_BY(mutex_) = false;
};

// Compares the receiver's pieces of a file with the source. Equal pieces need not be sent.

class KeptPieces {
  public:
    /// `hasher` outlives it.
    KeptPieces(PieceHasher& hasher, RemoteHolding holding) : hasher_(&hasher), holding_(std::move(holding)) {}

    /// Stores what the receiver has, once that is known.
    void learn(RemoteHolding holding) { holding_ = std::move(holding); }
    [[nodiscard]] Holding has() const noexcept { return holding_.has; }
    [[nodiscard]] std::uint8_t changes() const noexcept { return holding_.changes; }
    [[nodiscard]] bool none() const noexcept { return holding_.pieces.empty(); }

    /// Compares one more piece, from the front. It returns whether the whole file is the same, once that is known.
    [[nodiscard]] std::optional<bool> compare(int fd, std::uint64_t size);
    /// End of the part that was found to be the same.
    [[nodiscard]] std::uint64_t same_until() const noexcept { return same_until_; }

    /// Takes a few equal pieces at the front of the range; each piece is returned once.
    [[nodiscard]] std::vector<ProvenPiece> take_run(int fd, const Extent& range);
    /// Bytes at the front of the range before the next piece that might be the same.
    [[nodiscard]] std::uint64_t fresh_run(const Extent& range) const;

  private:
    PieceHasher* hasher_;
    RemoteHolding holding_;
    std::uint64_t same_until_ = 0;
};

// Names of files that were not sent and that have other names: links to them would lead to the receiver's old version.

class UnreplacedNames {
  public:
    /// The receiver's version under this name is not replaced.
    void add(const ScannedEntry& entry) {
        if (entry.linked) names_.try_emplace(path_key(entry.path));
    }
    /// Redirects a link to a name that has its file. False: there is none yet, and this name must be sent as a file
    /// instead.
    [[nodiscard]] bool lead(ScannedEntry& link) {
        for (;;) {
            const auto first = names_.find(path_key(link.target));
            if (first == names_.end()) return true;
            if (first->second.empty()) {
                first->second = link.path;
                return false;
            }
            link.target = first->second;
        }
    }

  private:
    std::unordered_map<std::uint64_t, std::string> names_;  // by path key: the name that was sent in place of it
};

// The entries to send, in order, with the queries about them. Many queries are open at a time, so that none costs a
// round trip.

class Inquiries {
  public:
    /// An entry, and the number of its query if there is one already.
    struct Candidate {
        ScannedEntry entry;
        std::optional<std::uint64_t> query;
    };

    /// All arguments outlive it.
    Inquiries(const SendOptions& options, ScanQueue& scanned, OutgoingPacker& packer, Announcer& announcer,
              ResumeAnswers& answers)
        : options_(options), scanned_(scanned), packer_(packer), announcer_(announcer), answers_(answers) {}

    /// The next entry; nullopt: the scanner has not found it yet, or is over.
    [[nodiscard]] std::optional<Candidate> next();
    [[nodiscard]] bool over() const { return scanned_.over(); }
    /// Sends a query about the entry and returns its number.
    [[nodiscard]] std::uint64_t ask(const ScannedEntry& entry);
    /// True if the receiver has said whether it has something, and has answered this query if so. Until it has said
    /// that, further files are queried.
    [[nodiscard]] bool knows_answer(std::optional<std::uint64_t> query);
    /// The answer to a query; take each once. If the receiver has nothing, all entries are new to it.
    [[nodiscard]] RemoteHolding take_holding(std::optional<std::uint64_t> query);
    /// The candidate is sent whatever the answer is. The receiver then follows its own answer.
    void send_ahead(const Candidate& candidate) { answers_.forget(*candidate.query); }
    void take_decision();
    /// True if the receiver has said whether it has something.
    [[nodiscard]] bool decided() const noexcept { return decided_; }
    /// True if it has something.
    [[nodiscard]] bool active() const noexcept { return active_; }
    /// True if files that are the same must be announced as well.
    [[nodiscard]] bool announces_all() const { return writes_receipt() || answers_.announce_all(); }
    /// True if this end needs the content of every file for a receipt.
    [[nodiscard]] bool writes_receipt() const { return options_.receipt && !options_.what.dry_run; }
    /// With hard_links: the names that links must not lead to.
    [[nodiscard]] UnreplacedNames& unreplaced() noexcept { return unreplaced_; }
    /// Sends the remaining names of entries that are not sent.
    void flush_unsent();

  private:
    /// Takes entries that the scanner has found, until `most` are waiting.
    void look_ahead(std::size_t most);
    void look_at(ScannedEntry entry);
    void note_unsent(std::string path);

    const SendOptions& options_;
    ScanQueue& scanned_;
    OutgoingPacker& packer_;
    Announcer& announcer_;
    ResumeAnswers& answers_;
    bool decided_ = false;
    bool active_ = false;
    std::deque<Candidate> waiting_;
    std::uint64_t waiting_bytes_ = 0;
    message::Unsent unsent_;  // names to report
    std::size_t unsent_bytes_ = 0;
    UnreplacedNames unreplaced_;
};

}  // namespace udtx::transfer
