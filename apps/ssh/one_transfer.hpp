// The far end of a transfer that was asked for over ssh: waits for the one connection, serves it, and ends.
#pragma once

#include "common/exit_codes.hpp"
#include "common/signals.hpp"
#include "control/transfer_card.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"
#include "ssh/bootstrap_channel.hpp"
#include "udtx/bound_socket.hpp"
#include "udtx/config.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// What is waited for, on the port that was named over ssh.
[[nodiscard]] transfer::AwaitRequest await_request(const BootstrapRequest& request, BoundSocket socket,
                                                   const CommonOptions& options, TransportConfig config);

class OneTransfer {
  public:
    /// All outlive it.
    OneTransfer(transfer::Transfer& transfer, DataEnd end, BootstrapChannel& channel, SignalWaiter& signals);

    /// Until the transfer is over or will not come. `card`: what it says of itself meanwhile. Ends the process by
    /// itself when threads may still sit in a disk call.
    [[nodiscard]] ExitCode serve(TransferCard card);

  private:
    /// False: it had to be left behind.
    [[nodiscard]] bool wait();
    void tell_heard();
    /// False: leave at once.
    bool interrupt(int signal, Instant now);
    [[nodiscard]] ExitCode code() const;

    transfer::Transfer& transfer_;
    BootstrapChannel& channel_;
    SignalWaiter& signals_;
    Interruption interruption_;
    bool told_heard_ = false;
    Observer observer_;
};

}  // namespace udtx::apps
