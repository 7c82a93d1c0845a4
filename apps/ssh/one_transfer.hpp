// The remote end of a transfer that was requested over ssh: waits for the one connection, serves it, and ends.
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

/// The parameters for the wait on the port that was announced over ssh.
[[nodiscard]] transfer::AwaitRequest await_request(const BootstrapRequest& request, BoundSocket socket,
                                                   const CommonOptions& options, TransportConfig config);

class OneTransfer {
  public:
    /// All arguments must outlive it.
    OneTransfer(transfer::Transfer& transfer, DataEnd end, BootstrapChannel& channel, SignalWaiter& signals);

    /// Runs until the transfer ends or has no prospect. `card`: its description for clients that list transfers. It
    /// ends the process itself if threads may still be blocked in a disk call.
    [[nodiscard]] ExitCode serve(TransferCard card);

  private:
    /// False: the transfer must be abandoned.
    [[nodiscard]] bool wait();
    void tell_heard();
    /// False: exit at once.
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
