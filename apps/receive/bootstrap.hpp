// udtx-recv as it is started over ssh: receives the one transfer that was asked for on standard input, then ends.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"

namespace udtx::apps {

/// `arguments`: what came after --bootstrap. Errors that come before there is a connection are told on standard output
/// (docs/using/ssh.md). Ends the process by itself when threads may still sit in a disk call.
[[nodiscard]] ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
