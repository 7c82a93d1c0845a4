// The report about one connection of a transfer, made by the side that connected.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dial/attempt_waiter.hpp"
#include "dial/explain.hpp"
#include "dial/job_record.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "options/common_options.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// Facts about the attempt that its parts do not know.
struct AttemptFacts {
    const CommonOptions& options;
    DataEnd end;
    bool streaming = false;
    bool dry_run = false;
    std::string congestion{};
    std::vector<transfer::FailedFile> missing{};     ///< missing sources that were found outside the transfer
    std::function<DialContext()> context = nullptr;  ///< called only if there is an error to explain
    JobRecord* job = nullptr;                        ///< of a shard
};

/// Includes the results of the earlier connections.
[[nodiscard]] FinalReport attempt_report(AttemptFacts facts, const TransferObservers& observers,
                                         const AttemptWaiter& waiter, const transfer::Transfer& transfer);
/// The attempt failed before the transfer started.
[[nodiscard]] Attempt not_begun(const CommonOptions& options, const TransferObservers& observers, const Error& error);

}  // namespace udtx::apps
