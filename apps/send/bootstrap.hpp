// udtx-send as it is started over ssh: sends what was asked for on standard input, once, then ends.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"

namespace udtx::apps {

/// `arguments`: what came after --bootstrap. Errors that come before there is a connection are told on standard output
/// (docs/using/ssh.md). Ends the process by itself when threads may still sit in a disk call.
[[nodiscard]] ExitCode send_by_bootstrap(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
