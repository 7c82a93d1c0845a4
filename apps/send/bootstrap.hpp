// udtx-send when it is started over ssh: sends once what standard input requests, then ends.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"

namespace udtx::apps {

/// `arguments`: the words after --bootstrap. Errors before the connection are reported on standard output
/// (docs/using/ssh.md). It ends the process itself if threads may still be blocked in a disk call.
[[nodiscard]] ExitCode send_by_bootstrap(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
