// The report of one connection's worth of a transfer, made by the side that dialled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/common_options.hpp"
#include "common/explain.hpp"
#include "common/final_report.hpp"
#include "common/reconnect.hpp"
#include "common/supervisor.hpp"
#include "common/transfer_watch.hpp"
#include "transfer/job.hpp"

namespace udtx::apps {

/// What the attempt's parts do not know themselves.
struct AttemptFacts {
    const CommonOptions& options;
    DataEnd end;
    bool streaming = false;
    bool dry_run = false;
    std::string congestion{};
    std::vector<transfer::FailedFile> missing{};     ///< sources that were asked for and are not there
    std::function<DialContext()> context = nullptr;  ///< asked when there is an error to explain
};

/// Counts what the connections before it came to.
[[nodiscard]] FinalReport attempt_report(AttemptFacts facts, const TransferWatch& watch, const Supervisor& supervisor,
                                         const DialHandler& dial, const transfer::Job& job);
/// Of an attempt that came to no transfer.
[[nodiscard]] Attempt not_begun(const CommonOptions& options, const TransferWatch& watch, const Error& error,
                                Attempt::End end);

}  // namespace udtx::apps
