// udtx-recv [user@]host:SRC... DEST: udtx-send is started there over ssh, and this side dials.
#pragma once

#include "udtx-recv/server.hpp"

namespace udtx::apps {

/// Ends by `leave` as run_receiver() does.
[[nodiscard]] FinalReport run_pull(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&));

}  // namespace udtx::apps
