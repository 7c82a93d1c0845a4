// --show-config: prints every setting with its value and the value's origin.
#pragma once

#include <string>

#include "config/layers.hpp"
#include "config/parse.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// One line per setting: "key value  # origin". Without the origins the output is a configuration
/// file.
[[nodiscard]] std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers,
                                      const ComputedDefault& computed);

}  // namespace udtx::apps
