// The remote end of a transfer that was requested over ssh: waits for the other side, serves it, and ends. If the
// connection is lost, it waits again with the same port and key, because ssh may ask for a new one-time password.
#pragma once

#include <functional>

#include "common/exit_codes.hpp"
#include "common/process.hpp"
#include "control/observer_services.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"
#include "ssh/bootstrap.hpp"
#include "udtx/bound_socket.hpp"
#include "udtx/config.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// A transfer as requested over ssh.
struct RequestedTransfer {
    const BootstrapRequest& request;
    BoundSocket socket;  ///< on the port that was announced over ssh
    const CommonOptions& options;
    TransportConfig config;
    DataEnd end;
    /// Starts to wait for a connection. `again`: an earlier one was lost.
    std::function<Result<transfer::Transfer>(transfer::AwaitRequest, bool again)> await;
    BootstrapFields answer;  ///< to the request
    TransferCard card;       ///< for clients that list transfers
};
/// Runs until the transfer ends or has no prospect. It ends the process itself if threads may still be blocked in a
/// disk call.
[[nodiscard]] ExitCode serve_requested(RequestedTransfer requested, BootstrapChannel& channel, SignalWaiter& signals);

class OneTransfer {
  public:
    /// All arguments must outlive it.
    OneTransfer(transfer::Transfer& transfer, DataEnd end, BootstrapChannel& channel, SignalWaiter& signals);

    /// Runs until the connection has ended, or the transfer has no prospect. It ends the process itself if threads may
    /// still be blocked in a disk call.
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
