// Small functions for the main functions of both tools.
#pragma once

#include <string>
#include <vector>

namespace udtx::apps {

/// Disables core dumps, because this process's memory holds keys. Builds with assertions keep core dumps.
void forbid_core_dumps() noexcept;
/// Handles std::bad_alloc that a library's noexcept function cannot pass on: prints a message and exits with the code
/// for it (file_io). Otherwise a signal would end the process.
void end_cleanly_without_memory() noexcept;
[[nodiscard]] const char* program_version() noexcept;
/// True if the arguments ask for JSON. Use it for errors that occur before the command line is parsed.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
