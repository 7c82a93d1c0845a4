// Chooses the value of a flag that was not typed: first the environment's, then the user's file's, then the system's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_file.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct Layers {
    std::vector<ConfigFile> files;                               ///< the first file with a value wins
    std::function<const char*(const std::string&)> environment;  ///< nullptr if a variable is not set
    std::string home;                                            ///< for "~/" in file names
    std::vector<std::string> known;                              ///< keys of both tools, because they share one file
    std::vector<std::string> left_out = {};                      ///< why files in their usual places were not read
};

struct Chosen {
    std::string flag;  ///< "--rate"; several entries only for a repeatable flag
    std::string value;
    std::string origin;  ///< "UDTX_RATE", "/etc/udtx/config:3"
};

/// The keys that a file may hold for `app`: the long names of its flags, without those that only print a text.
[[nodiscard]] std::vector<std::string> setting_names(const CLI::App& app);
/// True if a value of `key` was typed or set elsewhere. A switch must be on.
[[nodiscard]] bool is_on(const CLI::App& app, std::string_view key);
/// True if a flag that is_on() excludes `key`.
[[nodiscard]] bool is_excluded(const CLI::App& app, std::string_view key);
/// The environment variable of a flag: UDTX_MIN_RATE for "min-rate".
[[nodiscard]] std::string variable_name(const std::string& key);
/// The values of all flags of `app` that were not typed but are set elsewhere. A file's values are in the order of its
/// lines, which decides among --include and --exclude. `app` must have parsed the command line.
Result<std::vector<Chosen>> choose(const CLI::App& app, const Layers& layers, const std::string& host);
/// The value of a key that is not a flag (hostname, port).
[[nodiscard]] std::optional<Chosen> find_setting(const Layers& layers, const std::string& key, const std::string& host);
/// Converts `chosen` to command-line arguments.
[[nodiscard]] std::vector<std::string> as_arguments(const std::vector<Chosen>& chosen);

}  // namespace udtx::apps
