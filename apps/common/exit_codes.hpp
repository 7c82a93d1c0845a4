// Exit codes of both tools; rsync's values where rsync has one.
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
/// The other way, for a code that another of our programs gave.
[[nodiscard]] ErrorCode error_code_for(ExitCode code) noexcept;
/// One word for reports: "ok", "usage", "network", ...
[[nodiscard]] std::string_view to_string(ExitCode code) noexcept;
/// A few words for people.
[[nodiscard]] std::string_view meaning_of(ExitCode code) noexcept;

}  // namespace udtx::apps
