// Directories that bar their owner, opened up while there is work in them. What they had is in the journal first: also
// the run after one that was killed gives it back. Writer thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/resume/resume_journal.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class LentRights {
  public:
    /// Both outlive it; `journal` may be null.
    LentRights(const ConfinedDir& root, ResumeJournal* journal);

    /// Opens a directory up. False: that is not what bars the way.
    [[nodiscard]] bool lend(const std::string& directory);
    /// `op` gives a Result; again, if what it met is a directory that could be opened up. Another transfer may open it
    /// up, and give back what it had, at any time in between.
    template <class Op>
    [[nodiscard]] auto with(const std::string& directory, Op&& op) -> decltype(op()) {
        for (int left = kTries;;) {
            auto done = op();
            if (done || !is_barred(done.error()) || left == 0) return done;
            // Not ours, as a rule; or open already.
            left = lend(directory) ? left - 1 : left / 2;
        }
    }
    /// The directory is about to be opened up, or made with more than it is to have.
    void owe(const std::string& directory, std::uint32_t mode);
    /// What it is to have, if it was opened up, in this run or in one that was killed.
    [[nodiscard]] std::optional<std::uint32_t> owed(const std::string& directory) const;
    /// It has what it is to have.
    void settled(const std::string& directory);
    /// All get what they had.
    void give_back(const std::function<void(const std::string& directory, int error_number)>& failed);

  private:
    static constexpr int kTries = 8;
    [[nodiscard]] static bool is_barred(const Error& error) noexcept;

    const ConfinedDir& root_;
    ResumeJournal* journal_;
    std::map<std::string, std::uint32_t, std::greater<>> owed_;  // what is in a directory comes before it
};

}  // namespace udtx::transfer
