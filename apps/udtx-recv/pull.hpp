// udtx-recv [user@]host:SRC... DEST: udtx-send is started there over ssh, and this side dials.
#pragma once

#include "udtx-recv/server.hpp"

namespace udtx::apps {

using LeaveReceiver = void (*)(const RecvRun&, const FinalReport&);
/// Ends by `leave` as run_receiver() does.
[[nodiscard]] FinalReport run_pull(const RecvRun& run, LeaveReceiver leave);

}  // namespace udtx::apps
