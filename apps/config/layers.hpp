// Which value a flag takes that was not typed: the environment's, else the user's file's, else the system's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config_file.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct Layers {
    std::vector<ConfigFile> files;                               ///< the first that has a value is taken
    std::function<const char*(const std::string&)> environment;  ///< nullptr where a variable is not set
    std::string home;                                            ///< for "~/" in names of files
    std::vector<std::string> known;                              ///< keys of either tool: one file serves both
};

struct Chosen {
    std::string flag;  ///< "--rate"; more than one of it only where it may be repeated
    std::string value;
    std::string origin;  ///< "UDTX_RATE", "/etc/udtx/config:3"
};

/// The keys a file may hold for `app`: its flags by their long names, but for those that ask for a text.
[[nodiscard]] std::vector<std::string> setting_names(const CLI::App& app);
/// The variable of a flag: UDTX_MIN_RATE for "min-rate".
[[nodiscard]] std::string variable_name(const std::string& key);
/// For every flag of `app` that was not typed and is set elsewhere; a file's in the order of its lines, which decides
/// among --include and --exclude. `app` has parsed the command line.
Result<std::vector<Chosen>> choose(const CLI::App& app, const Layers& layers, const std::string& host);
/// The value of a key that is no flag (hostname, port).
[[nodiscard]] std::optional<Chosen> find_setting(const Layers& layers, const std::string& key, const std::string& host);
/// The arguments that stand for `chosen`.
[[nodiscard]] std::vector<std::string> as_arguments(const std::vector<Chosen>& chosen);

}  // namespace udtx::apps
