// Waits for the end of a transfer attempt by the side that connects. Meanwhile it shows progress, and a signal cancels
// the attempt.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "common/process.hpp"
#include "dial/explain.hpp"
#include "dial/job_record.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "observe/progress.hpp"
#include "options/common_options.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

class AttemptWaiter {
  public:
    struct Setup {
        SignalWaiter& signals;
        DataEnd end;
        TransferObservers& observers;
        Log& log;
        RemoteEnd* remote = nullptr;  ///< over ssh: polled at each turn
        bool known = false;           ///< `remote` had a connection before
    };
    /// All arguments must outlive it. The transfer's end wakes the signal waiter.
    AttemptWaiter(const Setup& setup, transfer::Transfer& transfer);

    /// Returns true once the transfer is done or has no prospect. False: it must be abandoned unfinished.
    [[nodiscard]] bool wait();
    /// Call it after the end: observes what changed since the last turn.
    void look_back();
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// Time of the last progress.
    [[nodiscard]] Instant last_moved() const noexcept { return last_moved_; }

  private:
    /// Polls the remote end over ssh. False: the attempt has no prospect.
    [[nodiscard]] bool listen();
    void show(Instant now);
    void look(Instant now);
    /// False: exit at once.
    bool interrupt(int signal, Instant now);

    Setup setup_;
    transfer::Transfer& transfer_;
    Instant start_;
    Instant last_moved_;
    Interruption interruption_;
};

// The report about one connection of a transfer, made by the side that connected.

/// Facts about the attempt that its parts do not know.
struct AttemptFacts {
    const CommonOptions& options;
    DataEnd end;
    bool streaming = false;
    bool dry_run = false;
    std::string congestion{};
    std::vector<transfer::FailedFile> missing{};     ///< missing sources that were found outside the transfer
    std::function<DialContext()> context = nullptr;  ///< called only if there is an error to explain
    JobRecord* job = nullptr;                        ///< of a shard
};

/// Includes the results of the earlier connections.
[[nodiscard]] FinalReport attempt_report(AttemptFacts facts, const TransferObservers& observers,
                                         const AttemptWaiter& waiter, const transfer::Transfer& transfer);
/// The attempt failed before the transfer started.
[[nodiscard]] Attempt not_begun(const CommonOptions& options, const TransferObservers& observers, const Error& error);

// Runs an attempt from its first datagram to its report, for both directions of a transfer.

/// All references must outlive the run.
struct AttemptCourse {
    const CommonOptions& options;
    Log& log;
    SignalWaiter& signals;
    DataEnd end;
    std::unique_ptr<TransferObservers>& observers;
    RemoteEnd* remote = nullptr;  ///< set over ssh, else null
    bool known = false;           ///< `remote` had a connection before
    std::optional<transfer::ReceiptFile> receipt{};
    bool resumable = false;   ///< another attempt may continue this one
    bool reads_pipe = false;  ///< what was read cannot be read again
    std::function<FinalReport(const AttemptWaiter&)> report;
    /// Ends a transfer that cannot finish. Does not return. The observers are destroyed before the call.
    std::function<void(const FinalReport&)> leave;
};
[[nodiscard]] Attempt run_attempt(const AttemptCourse& course, transfer::Transfer& transfer);

}  // namespace udtx::apps
