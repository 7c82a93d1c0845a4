// A manual page in roff (man(7)).
#pragma once

#include <string>

#include "common/manual.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

[[nodiscard]] std::string man_page(const CLI::App& app, const Manual& manual);

}  // namespace udtx::apps
