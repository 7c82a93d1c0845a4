// What a receiver says of its transfers.
#pragma once

#include <string>

#include "observe/final_report.hpp"
#include "options/run.hpp"
#include "serve/watched_transfer.hpp"

namespace udtx::apps {

/// Of one transfer that was served, over or not.
[[nodiscard]] FinalReport report_of(const RecvCommand& command, const WatchedTransfer& watched);
/// What one transfer, or the whole run, came to: messages for the user. `of`: put before each line. `sent`: by us.
void show(const RecvRun& run, const FinalReport& report, const std::string& of, bool sent);

}  // namespace udtx::apps
