// Finds what slows transfers down, and the commands that fix it.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"

namespace udtx::apps {

struct Finding {
    bool good = true;
    std::string what;      ///< "UDP buffers: receive 208 KiB, send 208 KiB"
    std::string remedy{};  ///< a command or a piece of advice; empty when all is well
    /// The exit code of a transfer with this fault. It is ok if the fault only slows transfers.
    ExitCode code = ExitCode::ok;
};

/// The first code that is not ok.
[[nodiscard]] ExitCode code_of(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_json(const std::vector<Finding>& findings);

}  // namespace udtx::apps
