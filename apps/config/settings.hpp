// A configuration file in the style of ssh_config: lines of "key value". Lines at the top hold for every run, lines in
// a Host block for the hosts that it names. Keys are the long names of the tools' flags. HostName and Port give the
// host's address.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

struct Setting {
    std::string key;  ///< in lower case, with '-' in place of '_'
    std::string value;
    int line = 0;
};

struct HostBlock {
    std::vector<std::string> patterns;  ///< empty: the top of the file
    std::vector<Setting> settings;

    /// Matches as in ssh_config: '*' and '?' are wildcards, at least one pattern must match, and no "!pattern" may
    /// match. If `host` is empty (the run connects to no host), only the top of the file applies.
    [[nodiscard]] bool applies_to(std::string_view host) const;
};

struct ConfigFile {
    std::string name;  ///< the file's name in messages
    std::vector<HostBlock> blocks;
};

/// invalid_argument: the message names the file and the line.
Result<ConfigFile> parse_config(std::string_view text, std::string name);
/// Empty if the file does not exist. A file that other users may write is refused, because it can name programs to run.
/// `foreign`, if not null, becomes the reason why a file of another user was not read. That is not an error, because
/// HOME may be another user's.
Result<std::optional<ConfigFile>> read_config(const std::string& path, std::string* foreign = nullptr);

}  // namespace udtx::apps

// Chooses the value of a flag that was not typed: first the environment's, then the user's file's, then the system's.

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
