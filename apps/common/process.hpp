// Small things that the main functions of both tools need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "udtx/rate.hpp"

namespace udtx::apps {

/// Keys live in this process's memory. Builds with assertions keep their core dumps.
void forbid_core_dumps() noexcept;
/// To standard output, with a newline.
void print_line(const std::string& line);
/// To standard output; returns the exit code of a run that only had to print something.
int print_text(std::string_view text);
/// For runs that fail before the command line is understood.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);
/// "rate cap: 500 Mbit/s (62.5 MB/s)"
[[nodiscard]] std::string describe_rate_cap(Rate rate);

}  // namespace udtx::apps
