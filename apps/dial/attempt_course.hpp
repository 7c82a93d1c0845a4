// An attempt from its first datagram to its report: the same whichever way the files go.
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

/// All that is referred to outlives the run.
struct AttemptCourse {
    const CommonOptions& options;
    Log& log;
    SignalWaiter& signals;
    DataEnd end;
    std::unique_ptr<TransferObservers>& observers;
    RemoteEnd* remote = nullptr;  ///< over ssh
    std::optional<transfer::ReceiptFile> receipt{};
    std::function<FinalReport(const AttemptWaiter&)> report;
    /// Of a transfer that has to be left behind unfinished: does not return. The observers are gone by then.
    std::function<void(const FinalReport&)> leave;
};
[[nodiscard]] Attempt run_attempt(const AttemptCourse& course, transfer::Transfer& transfer);

}  // namespace udtx::apps
