// Pulls: udtx-recv HOST:SRC... DEST starts udtx-send over ssh, and udtx-recv udtx://HOST/SRC... DEST asks a server.
// This side connects and receives.
#pragma once

#include "observe/final_report.hpp"
#include "options/run.hpp"

namespace udtx::apps {

using LeaveReceiver = void (*)(const RecvRun&, const FinalReport&);
/// Runs a pull. Calls `leave` in the same cases as run_receiver().
[[nodiscard]] FinalReport run_pull(const RecvRun& run, LeaveReceiver leave);

}  // namespace udtx::apps
