// A manual page in roff (man(7)).
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace udtx::apps {

[[nodiscard]] std::string man_page(const CLI::App& app);

}  // namespace udtx::apps
