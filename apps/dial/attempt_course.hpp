// Runs an attempt from its first datagram to its report, for both directions of a transfer.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/log.hpp"
#include "common/signals.hpp"
#include "dial/attempt_waiter.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

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
