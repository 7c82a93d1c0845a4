// A manual page in roff (man(7)).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace udtx::apps {

[[nodiscard]] std::string man_page(const CLI::App& app);

}  // namespace udtx::apps
