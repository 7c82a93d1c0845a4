// What was found and is to be sent, in order, with what the receiver was asked about it: many questions are under way,
// so that none costs a round trip.
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
    /// An entry, and the query about it if it was asked already.
    struct Candidate {
        ScannedEntry entry;
        std::optional<std::uint64_t> query;
    };

    /// All outlive it.
    Inquiries(const ReadOptions& options, ScanQueue& scanned, OutgoingPacker& packer, EntryAnnouncer& announcer,
              ResumeAnswers& answers)
        : options_(options), scanned_(scanned), packer_(packer), announcer_(announcer), answers_(answers) {}

    /// The next entry; none: the scanner has not found it yet, or is over.
    [[nodiscard]] std::optional<Candidate> next();
    [[nodiscard]] bool over() const { return scanned_.over(); }
    /// The query about the entry.
    [[nodiscard]] std::uint64_t ask(const ScannedEntry& entry);
    /// Whether the receiver has said what it has, if anything, of what the query is about. Files are asked about
    /// meanwhile.
    [[nodiscard]] bool knows_answer(std::optional<std::uint64_t> query);
    /// The answer, once for each. Where the receiver has nothing all is new to it.
    [[nodiscard]] RemoteHolding take_holding(std::optional<std::uint64_t> query);
    /// The candidate is sent whatever the answer is: the receiver goes by what it said itself.
    void send_ahead(const Candidate& candidate) { answers_.forget(*candidate.query); }
    void take_decision();
    /// The receiver has said whether it has something ...
    [[nodiscard]] bool decided() const noexcept { return decided_; }
    /// ... and it has.
    [[nodiscard]] bool active() const noexcept { return active_; }
    /// Files that are the same are to be announced, too.
    [[nodiscard]] bool announces_all() const { return options_.announce_all || answers_.announce_all(); }
    /// What is still to be told of names that are not sent.
    void flush_unsent();

  private:
    /// Takes what the scanner has found, until so many are waiting.
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
    message::Unsent unsent_;  // names to be told
    std::size_t unsent_bytes_ = 0;
};

}  // namespace udtx::transfer
