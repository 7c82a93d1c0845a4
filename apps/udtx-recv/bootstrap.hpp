// udtx-recv as it is started over ssh: receives the one transfer that was asked for on standard input, then ends.
#pragma once

#include "common/exit_codes.hpp"

namespace udtx::apps {

/// Errors that come before there is a connection are told on standard output (docs/ssh.md). Ends the process by itself
/// when threads may still sit in a disk call.
[[nodiscard]] ExitCode receive_by_bootstrap();

}  // namespace udtx::apps
