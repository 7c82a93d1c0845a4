// An attempt from its first datagram to its report: the same whichever way the files go.
#pragma once

#include <functional>
#include <optional>

#include "common/transport.hpp"
#include "dial/attempt_waiter.hpp"
#include "dial/dial_handler.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// All that is referred to outlives the run.
struct AttemptCourse {
    const CommonOptions& options;
    TransferObservers& observers;
    Transport& transport;
    DialHandler& dial;
    AttemptWaiter& waiter;
    transfer::ReceiptWriter* receipt;  ///< none: null
    transfer::OpenKept open_kept;      ///< a file that was delivered, for the receipt
    std::function<FinalReport()> report;
    /// Asked once, when the wait is over and before the last report: why nothing came of it, where the far end has said
    /// so. Takes what else it said.
    std::function<std::optional<Error>()> refusal;
    /// How long the connection's end may take.
    std::function<Duration()> drain;
    /// Of a transfer that has to be left behind unfinished: does not return.
    std::function<void(FinalReport)> leave;
};
[[nodiscard]] Attempt run_attempt(const AttemptCourse& course);

}  // namespace udtx::apps
