// udtx-recv when it is started over ssh: receives the one transfer that standard input requests, then ends.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"

namespace udtx::apps {

/// `arguments`: the words after --bootstrap. Errors before the connection are reported on standard output
/// (docs/using/ssh.md). It ends the process itself if threads may still be blocked in a disk call.
[[nodiscard]] ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
