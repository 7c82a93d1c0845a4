// udtx-send as it is started over ssh: sends what was asked for on standard input, once, then ends.
#pragma once

#include "common/exit_codes.hpp"

namespace udtx::apps {

/// Errors that come before there is a connection are told on standard output (docs/ssh.md). Ends the process by itself
/// when threads may still sit in a disk call.
[[nodiscard]] ExitCode send_by_bootstrap();

}  // namespace udtx::apps
