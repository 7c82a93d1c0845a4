// Command line, environment and configuration files together, and the texts made from the definitions of the flags.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/manual.hpp"
#include "common/origins.hpp"
#include "common/url.hpp"
#include "config/layers.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct Configured {
    EarlyText text = {};              ///< what --help, --show-config and --generate print
    std::vector<Chosen> chosen = {};  ///< what was not typed
    Origins origins = {};
    std::optional<Chosen> host_name = {};  ///< HostName of the host's block: the address to dial for this host
    std::optional<Chosen> port = {};       ///< Port likewise

    /// HostName and Port where `url` is a name to look up; a port that was typed stays.
    [[nodiscard]] Result<void> place(Url& url) const;
};

/// The name that a target as typed, "udtx://HOST:PORT/x" or "[user@]HOST:PATH", is looked up by; empty if it has none.
[[nodiscard]] std::string host_of(std::string_view target);

/// What is asked for only where it is needed.
struct ToolFlags {
    std::function<Subcommands()> subcommands;         ///< for completion
    std::function<std::vector<std::string>()> known;  ///< the settings of both tools, which share their files
    std::function<Manual(std::string_view)> manuals;  ///< by the name of a command
};

/// Parses; what is not typed comes from the environment and the files. `target` says, of an app that has parsed, whom
/// this run dials.
Result<Configured> parse_configured(CLI::App& app, const std::vector<std::string>& arguments,
                                    const std::function<std::string()>& target, const ToolFlags& flags);
/// The same, then `check` of the command that was filled. `origins` is where its values came from; an error names it.
Result<Configured> parse_checked(CLI::App& app, const std::vector<std::string>& arguments,
                                 const std::function<std::string()>& target, const ToolFlags& flags, Origins& origins,
                                 const std::function<Result<void>()>& check);
/// The first with given layers instead of this process's environment.
Result<Configured> parse_with_layers(CLI::App& app, const std::vector<std::string>& arguments,
                                     const std::function<std::string()>& target, const Layers& layers);

}  // namespace udtx::apps
