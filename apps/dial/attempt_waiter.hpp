// Waits for the end of a transfer attempt by the side that connects. Meanwhile it shows progress, and a signal cancels
// the attempt.
#pragma once

#include <optional>

#include "common/signals.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/path_progress.hpp"
#include "ssh/remote_end.hpp"
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

}  // namespace udtx::apps
