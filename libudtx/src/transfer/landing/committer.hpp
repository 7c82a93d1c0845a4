// A task that makes finished temporary files durable and gives them their final names, in groups. One sync of the file
// system covers a thousand small files, and the writer continues meanwhile.
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
    /// `root` and `claims` must outlive the committer.
    Committer(const ConfinedDir& root, EntryClaims& claims, CommitCallbacks callbacks);
    /// Commits everything that was submitted.
    ~Committer();
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    /// Waits while too much is pending. Keeps the descriptor of a small file only while few files are pending.
    /// std::runtime_error: a commit threw an exception, and the committer has stopped.
    void submit(Commit commit);
    /// Waits until everything submitted has been reported. Throws as submit() does.
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
    const std::optional<std::uint64_t> mount_;  // mount of the root, if one sync makes all files on it durable
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Commit> pending_;
    std::size_t pending_fds_ = 0;
    std::uint64_t pending_bytes_ = 0;
    std::uint64_t unproven_ = 0;       // Commit::unproven of all in pending_
    std::uint64_t busy_unproven_ = 0;  // Commit::unproven of the batch being committed
    std::chrono::steady_clock::time_point first_pending_;
    bool busy_ = false;
    bool hurry_ = false;
    std::optional<Error> broken_;
    DiskTask task_;  // last: it uses the members above
};

}  // namespace udtx::transfer
