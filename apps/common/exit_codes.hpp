// Exit codes of both tools. They are rsync's values where rsync has one. Code 0 means that every byte that was asked
// for stands under its final name and was read or proven. Any other code has a line at both ends, in JSON too.
#pragma once

#include <string_view>

#include "udtx/result.hpp"

namespace udtx::apps {

enum class ExitCode : int {
    ok = 0,
    usage = 1,
    network = 10,
    file_io = 11,
    protocol = 12,
    superseded = 13,
    partial = 23,
    timeout = 30,
    authentication = 40,
    integrity = 41,
    udp_blocked = 42,
    interrupted = 130,
};

[[nodiscard]] ExitCode exit_code_for(ErrorCode code) noexcept;
/// The reverse mapping, for the exit code of another udtx process.
[[nodiscard]] ErrorCode error_code_for(ExitCode code) noexcept;
/// The code as one word for reports: "ok", "usage", "network", ...
[[nodiscard]] std::string_view to_string(ExitCode code) noexcept;
/// A short description for users.
[[nodiscard]] std::string_view meaning_of(ExitCode code) noexcept;

}  // namespace udtx::apps
