// Reports of a receiver about its transfers.
#pragma once

#include <string>

#include "observe/final_report.hpp"
#include "options/run.hpp"
#include "serve/watched_transfer.hpp"

namespace udtx::apps {

/// The report about one served transfer, ended or running.
[[nodiscard]] FinalReport report_of(const RecvCommand& command, const WatchedTransfer& watched);
/// Prints the messages about one transfer or the whole run. `of` is put before each line. `sent`: this side sent the
/// data.
void show(const RecvRun& run, const FinalReport& report, const std::string& of, bool sent);

}  // namespace udtx::apps
