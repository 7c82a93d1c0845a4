// Waits for the end of an attempt at a transfer that this side dialled: shows how it goes meanwhile, and ends it on a
// signal.
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
        RemoteEnd* remote = nullptr;  ///< over ssh: heard at each turn
    };
    /// All outlive it. Its end wakes the signal waiter.
    AttemptWaiter(const Setup& setup, transfer::Transfer& transfer);

    /// Until it is done, or nothing will come of it. False when it had to be left behind unfinished.
    [[nodiscard]] bool wait();
    /// When all is over: what the last turn has missed.
    void look_back();
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// When something moved for the last time.
    [[nodiscard]] Instant last_moved() const noexcept { return last_moved_; }

  private:
    /// Hears the far end over ssh. False: nothing will come of it.
    [[nodiscard]] bool listen();
    void show(Instant now);
    void look(Instant now);
    /// False: leave at once.
    bool interrupt(int signal, Instant now);

    Setup setup_;
    transfer::Transfer& transfer_;
    Instant start_;
    Instant last_moved_;
    Interruption interruption_;
};

}  // namespace udtx::apps
