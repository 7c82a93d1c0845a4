// Parses the command line together with the environment and configuration files, and prints the texts made from the
// definitions of the flags.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "config/settings.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct Configured {
    EarlyText text = {};              ///< what --help, --show-config and --generate print
    std::vector<Chosen> chosen = {};  ///< values that were not typed
    Origins origins = {};
    std::vector<std::string> left_out = {};  ///< see Layers
    std::optional<Chosen> host_name = {};    ///< HostName of the host's block: the address to connect to
    std::optional<Chosen> port = {};         ///< Port of the host's block

    /// Applies HostName and Port to `url` if its host is a name to look up. A typed port has priority.
    [[nodiscard]] Result<void> place(Url& url) const;
};

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
/// `app`, `target` returns the target that this run connects to.
Result<Configured> parse_configured(CLI::App& app, const std::vector<std::string>& arguments,
                                    const std::function<std::string()>& target, const ToolFlags& flags);
/// Does the same, then calls `check` for the command that was filled. `origins` receives where its values came from,
/// and an error names that place.
Result<Configured> parse_checked(CLI::App& app, const std::vector<std::string>& arguments,
                                 const std::function<std::string()>& target, const ToolFlags& flags, Origins& origins,
                                 const std::function<Result<void>()>& check);
/// Like parse_configured(), with the given layers in place of this process's environment.
Result<Configured> parse_with_layers(CLI::App& app, const std::vector<std::string>& arguments,
                                     const std::function<std::string()>& target, const Layers& layers);

}  // namespace udtx::apps

// --show-config: prints every setting with its value and the value's origin.

namespace CLI {
class App;
}

namespace udtx::apps {

/// One line per setting: "key value  # origin". Without the origins the output is a configuration
/// file.
[[nodiscard]] std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers,
                                      const ComputedDefault& computed);

}  // namespace udtx::apps
