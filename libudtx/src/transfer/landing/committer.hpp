// Makes finished temporary files durable and gives them their final names, in groups, as a task of its own: one sync of
// the file system stands for a thousand small files, and the writer goes on meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/commit_batch.hpp"
#include "transfer/landing/entry_claims.hpp"

namespace udtx::transfer {

class Committer {
  public:
    /// `root` and `claims` outlive the committer.
    Committer(const ConfinedDir& root, EntryClaims& claims, CommitCallbacks callbacks);
    /// Commits what was submitted.
    ~Committer();
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    /// Waits while too much is pending. Small files: the descriptor is kept only while few are pending.
    /// std::runtime_error: a commit threw something, and nothing more is committed.
    void submit(Commit commit);
    /// Until everything submitted has been reported; otherwise as submit().
    void flush();

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep give_up(Error error) noexcept;
    [[nodiscard]] bool batch_is_due() const;
    [[nodiscard]] bool is_synced_with_root(const Commit& commit) const;
    void check_well() const;

    const ConfinedDir& root_;
    EntryClaims& claims_;
    CommitCallbacks callbacks_;
    const std::optional<std::uint64_t> mount_;  // of the root, if one sync takes in what is on it
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Commit> pending_;
    std::size_t pending_fds_ = 0;
    std::uint64_t pending_bytes_ = 0;
    std::uint64_t unproven_ = 0;       // of what is pending ...
    std::uint64_t busy_unproven_ = 0;  // ... and being committed
    std::chrono::steady_clock::time_point first_pending_;
    bool busy_ = false;
    bool hurry_ = false;
    std::optional<Error> broken_;
    DiskTask task_;  // last: it uses what stands above
};

}  // namespace udtx::transfer
