// Small things that the main functions of both tools need.
#pragma once

#include <string>
#include <vector>

namespace udtx::apps {

/// Keys live in this process's memory. Builds with assertions keep their core dumps.
void forbid_core_dumps() noexcept;
/// Where a lack of memory cannot be thrown any further (a library's noexcept), it is said, and ends the process with
/// the code for it, not with a signal.
void end_cleanly_without_memory() noexcept;
[[nodiscard]] const char* program_version() noexcept;
/// For runs that fail before the command line is understood.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
