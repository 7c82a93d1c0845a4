// --show-config: every setting with its value and where that comes from.
#pragma once

#include <string>

#include "config/layers.hpp"
#include "config/parse.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// One line a setting: "key value  # origin". Without the comments it is a configuration file again.
[[nodiscard]] std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers);

}  // namespace udtx::apps
