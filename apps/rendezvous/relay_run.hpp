// `udtx-recv --relay`: a relay from its start to a signal.
#pragma once

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "common/process.hpp"
#include "rendezvous/relay.hpp"
#include "sandbox/sandbox.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Serves until TERM or INT. Logs one line for each event, and a sum at the end. Returns an error if it cannot start.
/// `options.report` is not used.
[[nodiscard]] Result<void> run_relay(Relay::Options options, SandboxMode sandbox, Log& log, SignalWaiter& signals);

}  // namespace udtx::apps
