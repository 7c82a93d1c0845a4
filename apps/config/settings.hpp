// Where the values of flags come from besides the command line: configuration files in the style of ssh_config, and the
// environment. Lines "key value" at the top of a file hold for every run, lines in a Host block for the hosts that it
// names. Keys are the long names of the tools' flags. HostName and Port give the host's address.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

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

/// A flag that was not typed takes its value from the environment, else from the user's file, else from the system's.
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

struct Configured {
    EarlyText text = {};              ///< what --help, --show-config and --generate print
    std::vector<Chosen> chosen = {};  ///< values that were not typed
    Origins origins = {};
    std::optional<Chosen> host_name = {};  ///< HostName of the host's block: the address to connect to
    std::optional<Chosen> port = {};       ///< Port of the host's block

    /// Applies HostName and Port to `url` if its host is a name to look up. A typed port has priority.
    [[nodiscard]] Result<void> place(Url& url) const;
};

/// The keys that a file may hold for `app`: the long names of its flags, without those that only print a text.
[[nodiscard]] std::vector<std::string> setting_names(const CLI::App& app);
/// The host name in a typed target ("udtx://HOST:PORT/x" or "[user@]HOST:PATH"), by which Host blocks are found; empty
/// if the target has none.
[[nodiscard]] std::string host_of(std::string_view target);

/// The default of a setting that its flag does not have, because it depends on the run or on the machine; empty if
/// there is none.
using ComputedDefault = std::function<std::string(const std::string& key)>;

/// Callbacks for data that only some runs need.
struct ToolFlags {
    std::function<Subcommands()> subcommands;  ///< for completion
    /// The settings of both tools, which share their configuration files.
    std::function<std::vector<std::string>()> known;
    std::function<Manual(std::string_view)> manuals;  ///< by the command's name
    ComputedDefault computed;                         ///< for --show-config
};

/// Parses `arguments`. Flags that are not typed take values from the environment and the files. After the parsing of
/// `app`, `target` returns the target that this run connects to. Then calls `check` for the command that was filled.
/// `origins` receives where its values came from, and an error names that place.
Result<Configured> parse_checked(CLI::App& app, const std::vector<std::string>& arguments,
                                 const std::function<std::string()>& target, const ToolFlags& flags, Origins& origins,
                                 const std::function<Result<void>()>& check);
/// The same without checks, and with the given layers in place of this process's environment.
Result<Configured> parse_with_layers(CLI::App& app, const std::vector<std::string>& arguments,
                                     const std::function<std::string()>& target, const Layers& layers);

/// --show-config: one line per setting, "key value  # origin". Without the origins the output is a configuration file.
[[nodiscard]] std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers,
                                      const ComputedDefault& computed);

}  // namespace udtx::apps
