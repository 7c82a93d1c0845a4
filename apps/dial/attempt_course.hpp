// An attempt from its first datagram to its report: the same whichever way the files go.
#pragma once

#include <functional>
#include <optional>

#include "dial/attempt_waiter.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// All that is referred to outlives the run.
struct AttemptCourse {
    const CommonOptions& options;
    TransferObservers& observers;
    const transfer::Transfer& transfer;
    AttemptWaiter& waiter;
    std::function<FinalReport()> report;
    /// Asked once, when the wait is over and before the last report: why nothing came of it, where the far end has said
    /// so. Takes what else it said.
    std::function<std::optional<Error>()> refusal;
    /// Of a transfer that has to be left behind unfinished: does not return.
    std::function<void(FinalReport)> leave;
};
[[nodiscard]] Attempt run_attempt(const AttemptCourse& course);

/// --receipt: none where that is not asked for.
[[nodiscard]] Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options);

}  // namespace udtx::apps
