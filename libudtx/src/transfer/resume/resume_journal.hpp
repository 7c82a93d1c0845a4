// The journal of one transfer, a file in the directory that takes the transfer: what is proven on disk, so that another
// run need not send it again. Thread-safe but for open(). It claims only what its caller has synced before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/names.hpp"
#include "transfer/resume/journal_format.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

/// Beyond, nothing is added: what comes later is sent again by another run.
inline constexpr std::size_t kMaxJournalBytes = 128U << 20U;

class ResumeJournal {
  public:
    struct Opened {
        std::unique_ptr<ResumeJournal> journal;  ///< none: this run cannot be resumed
        std::string note;                        ///< for the user, may be empty
    };
    class Opening;
    ~ResumeJournal();
    ResumeJournal(const ResumeJournal&) = delete;
    ResumeJournal& operator=(const ResumeJournal&) = delete;

    /// What the runs before this one left.
    [[nodiscard]] const JournalImage& earlier() const noexcept { return earlier_; }
    /// Makes the name of a temporary file.
    [[nodiscard]] std::uint64_t unique_for(const std::string& path) const { return temp_number(header_, path); }

    /// A temporary file is begun; before its pieces, and before it is done or gone. `shared` as in record::Partial.
    void begin_partial(const std::string& path, std::uint64_t shared = 0);
    /// These are synced.
    void add_pieces(const std::string& path, const std::vector<ProvenPiece>& pieces);
    void add_done(const record::Done& done);
    void add_gone(const std::string& path);
    /// The owner's rights to a directory are about to be lent (`mode`: without them), or were given back. "": the root.
    void add_rights(const std::string& directory, std::uint32_t mode, bool lent);
    /// Writes what was added since the last flush. Errors are kept to ourselves: they cost a later run some blocks.
    void flush();
    /// Another run would find something here.
    [[nodiscard]] bool worth_keeping() const;
    /// Removes the file, and the temporary files that it knows of; nothing is added any more.
    void remove();

  private:
    /// One of this process's jobs has this transfer in this directory.
    class Claim;
    ResumeJournal(ConfinedDir root, std::uint64_t transfer, std::unique_ptr<Claim> claim);
    /// Empty, or why it cannot be used. nullopt: another process still has it, and `wait` says that it may.
    [[nodiscard]] std::optional<std::string> lock(bool wait);
    [[nodiscard]] std::string load(HashAlgorithm hash);
    void add(const JournalRecord& record);

    ConfinedDir root_;
    std::uint64_t transfer_;
    std::unique_ptr<Claim> claim_;
    UniqueFd fd_;
    std::string unlocked_;  // why there is no lock, if so
    JournalImage earlier_;
    record::Header header_;

    mutable std::mutex mutex_;  // guards what follows
    std::vector<std::byte> pending_;
    std::uint64_t end_ = 0;  // of the file and what is pending
    std::uint64_t next_number_ = 0;
    std::unordered_map<std::string, std::uint64_t> numbers_;  // of temporary files, by the path of the file
    std::unordered_set<std::string> shared_;                  // of these, those that other shards fill as well
    std::uint64_t done_ = 0;
    bool broken_ = false;
};

/// Takes the transfer over from a job of this process, or from another process, that still has it. They need a while
/// for that, and nobody is to wait for them with a thread.
class ResumeJournal::Opening {
  public:
    /// `displaced` is called when another job of this process wants the transfer, once or more often, on its thread.
    Opening(ConfinedDir root, std::uint64_t transfer, HashAlgorithm hash, std::function<void()> displaced);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

    /// nullopt: somebody has it, to be tried again in a while. Gives up some seconds after the first one.
    [[nodiscard]] std::optional<Opened> attempt();

  private:
    std::optional<ConfinedDir> root_;
    std::uint64_t transfer_;
    HashAlgorithm hash_;
    std::function<void()> displaced_;
    std::unique_ptr<ResumeJournal> journal_;                      // claimed, not locked yet
    std::optional<std::chrono::steady_clock::time_point> since_;  // waiting for the job, then for the process
};

}  // namespace udtx::transfer
