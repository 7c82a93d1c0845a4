// Opens up directories that deny their owner access while there is work in them. Their modes are written to the journal
// first, so that the run after a killed one can restore them. For the writer's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/journal.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class LentRights {
  public:
    /// Both must outlive this object; `journal` may be null.
    LentRights(const ConfinedDir& root, ResumeJournal* journal);

    /// Opens a directory up. False: its rights do not cause the failure, or they cannot be changed.
    [[nodiscard]] bool lend(const std::string& directory);
    /// Calls `op`, which returns a Result. Calls it again if it failed at a directory that could be opened up. In
    /// between, another transfer may at any time open that directory up and restore its mode.
    template <class Op>
    [[nodiscard]] auto with(const std::string& directory, Op&& op) -> decltype(op()) {
        for (int left = kTries;;) {
            auto done = op();
            if (done || !is_barred(done.error()) || left == 0) return done;
            // False: the directory is usually another user's, or it is open already.
            left = lend(directory) ? left - 1 : left / 2;
        }
    }
    /// Call it before a directory is opened up, or made with more rights than it is to have.
    void owe(const std::string& directory, std::uint32_t mode);
    /// The mode that a directory must have at the end, if this run or a killed one opened it up.
    [[nodiscard]] std::optional<std::uint32_t> owed(const std::string& directory) const;
    /// Call it when the directory has that mode.
    void settled(const std::string& directory);
    /// Restores the modes of all directories that are still open.
    void give_back(const std::function<void(const std::string& directory, int error_number)>& failed);

  private:
    static constexpr int kTries = 8;
    [[nodiscard]] static bool is_barred(const Error& error) noexcept;

    const ConfinedDir& root_;
    ResumeJournal* journal_;
    std::map<std::string, std::uint32_t, std::greater<>> owed_;  // entries come before their directory
};

}  // namespace udtx::transfer
