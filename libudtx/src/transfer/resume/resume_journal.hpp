// The journal of one transfer, a file in the directory that takes the transfer. It records what is proven on disk, so
// that another run does not send it again. Thread-safe, except while it is opened. Callers must sync data before they
// record it.
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

/// The limit of the file. Later records are dropped, and another run sends their data again.
inline constexpr std::size_t kMaxJournalBytes = 128U << 20U;

class ResumeJournal {
  public:
    struct Opened {
        std::unique_ptr<ResumeJournal> journal;  ///< null: this run cannot be resumed
        std::string note;                        ///< for the user, may be empty
    };
    class Opening;
    ~ResumeJournal();
    ResumeJournal(const ResumeJournal&) = delete;
    ResumeJournal& operator=(const ResumeJournal&) = delete;

    /// What earlier runs left.
    [[nodiscard]] const JournalImage& earlier() const noexcept { return earlier_; }
    /// The number that makes the name of a temporary file.
    [[nodiscard]] std::uint64_t unique_for(const std::string& path) const { return temp_number(header_, path); }

    /// Records a new temporary file. Call it before its pieces are added and before it is done or gone. `shared`: see
    /// record::Partial.
    void begin_partial(const std::string& path, std::uint64_t shared = 0);
    /// Records pieces that are synced.
    void add_pieces(const std::string& path, const std::vector<ProvenPiece>& pieces);
    void add_done(const record::Done& done);
    void add_gone(const std::string& path);
    /// Records that the owner's rights to a directory are about to be lent, or were taken back. `mode`: the mode
    /// without them. "" is the root.
    void add_rights(const std::string& directory, std::uint32_t mode, bool lent);
    /// Writes what was added since the last flush. Errors are not reported: they only cost a later run some blocks.
    void flush();
    /// True if another run would find something here.
    [[nodiscard]] bool worth_keeping() const;
    /// Removes the file and the temporary files that it lists, except those that other shards fill too. Nothing is
    /// added after that.
    void remove();

  private:
    /// The right of one job of this process to this transfer in this directory.
    class Claim;
    ResumeJournal(ConfinedDir root, std::uint64_t transfer, std::unique_ptr<Claim> claim);
    /// Returns "" or why the journal cannot be used. nullopt: another process still has it, and `wait` allows that.
    [[nodiscard]] std::optional<std::string> lock(bool wait);
    [[nodiscard]] std::string load(HashAlgorithm hash);
    void add(const JournalRecord& record);

    ConfinedDir root_;
    std::uint64_t transfer_;
    std::unique_ptr<Claim> claim_;
    UniqueFd fd_;
    std::string unlocked_;   // why there is no lock, if there is none
    bool relinked_ = false;  // the journal had another name, and was left alone
    JournalImage earlier_;
    record::Header header_;

    mutable std::mutex mutex_;  // guards all members below
    std::vector<std::byte> pending_;
    std::uint64_t end_ = 0;  // size of the file and of pending_
    std::uint64_t next_number_ = 0;
    std::unordered_map<std::string, std::uint64_t> numbers_;  // numbers of temporary files, by the path of the file
    std::unordered_set<std::string> shared_;                  // paths of those files that other shards fill too
    std::uint64_t done_ = 0;
    bool broken_ = false;
};

/// Takes the transfer over from a job of this process, or from another process, that still has it. They need some time
/// to release it, and no thread should block meanwhile.
class ResumeJournal::Opening {
  public:
    /// `displaced` is called when another job of this process wants the transfer. That happens once or more often, on
    /// the thread of that job.
    Opening(ConfinedDir root, std::uint64_t transfer, HashAlgorithm hash, std::function<void()> displaced);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

    /// nullopt: another owner has the transfer; try again in a while. Gives up some seconds after the first attempt.
    [[nodiscard]] std::optional<Opened> attempt();

  private:
    std::optional<ConfinedDir> root_;
    std::uint64_t transfer_;
    HashAlgorithm hash_;
    std::function<void()> displaced_;
    std::unique_ptr<ResumeJournal> journal_;                      // claimed, not locked yet
    std::optional<std::chrono::steady_clock::time_point> since_;  // start of the wait for the job, then for the process
};

}  // namespace udtx::transfer
