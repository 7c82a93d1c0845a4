// The report of one connection's worth of a transfer, made by the side that dialled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dial/attempt_waiter.hpp"
#include "dial/explain.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// What the attempt's parts do not know themselves.
struct AttemptFacts {
    const CommonOptions& options;
    DataEnd end;
    bool streaming = false;
    bool dry_run = false;
    std::string congestion{};
    std::vector<transfer::FailedFile> missing{};     ///< sources that are not there, as others than the transfer say
    std::function<DialContext()> context = nullptr;  ///< asked when there is an error to explain
};

/// Counts what the connections before it came to.
[[nodiscard]] FinalReport attempt_report(AttemptFacts facts, const TransferObservers& observers,
                                         const AttemptWaiter& waiter, const transfer::Transfer& transfer);
/// Of an attempt that came to no transfer.
[[nodiscard]] Attempt not_begun(const CommonOptions& options, const TransferObservers& observers, const Error& error);

}  // namespace udtx::apps
