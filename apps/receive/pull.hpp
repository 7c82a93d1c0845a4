// udtx-recv HOST:SRC... DEST, where udtx-send is started over ssh, and udtx-recv udtx://HOST/SRC... DEST, from a
// server: this side dials, and receives.
#pragma once

#include "observe/final_report.hpp"
#include "options/run.hpp"

namespace udtx::apps {

using LeaveReceiver = void (*)(const RecvRun&, const FinalReport&);
/// Ends by `leave` as run_receiver() does.
[[nodiscard]] FinalReport run_pull(const RecvRun& run, LeaveReceiver leave);

}  // namespace udtx::apps
