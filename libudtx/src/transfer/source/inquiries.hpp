// The entries to send, in order, with the queries about them. Many queries are open at a time, so that none costs a
// round trip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "transfer/source/entry_announcer.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/read_options.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

class Inquiries {
  public:
    /// An entry, and the number of its query if there is one already.
    struct Candidate {
        ScannedEntry entry;
        std::optional<std::uint64_t> query;
    };

    /// All arguments outlive it.
    Inquiries(const ReadOptions& options, ScanQueue& scanned, OutgoingPacker& packer, EntryAnnouncer& announcer,
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
    [[nodiscard]] bool announces_all() const { return options_.announce_all || answers_.announce_all(); }
    /// Sends the remaining names of entries that are not sent.
    void flush_unsent();

  private:
    /// Takes entries that the scanner has found, until `most` are waiting.
    void look_ahead(std::size_t most);
    void look_at(ScannedEntry entry);
    void note_unsent(std::string path);

    const ReadOptions& options_;
    ScanQueue& scanned_;
    OutgoingPacker& packer_;
    EntryAnnouncer& announcer_;
    ResumeAnswers& answers_;
    bool decided_ = false;
    bool active_ = false;
    std::deque<Candidate> waiting_;
    std::uint64_t waiting_bytes_ = 0;
    message::Unsent unsent_;  // names to report
    std::size_t unsent_bytes_ = 0;
};

}  // namespace udtx::transfer
