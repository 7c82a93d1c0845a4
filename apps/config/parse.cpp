#include "config/parse.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "common/ssh_target.hpp"
#include "config/generate.hpp"
#include "config/show.hpp"

namespace udtx::apps {
namespace {

constexpr const char* kSystemFile = "/etc/udtx/config";
constexpr const char* kNoFile = "none";

struct OwnFlags {
    std::string file;
    bool show = false;
    std::string generate;

    void add_to(CLI::App& app) {
        const auto group = "Configuration";
        app.add_option("--config", file, "Read this file in place of ~/.config/udtx/config; 'none' reads no file")
            ->type_name("FILE")
            ->group(group);
        app.add_flag("--show-config", show, "Print every setting with its origin and exit")->group(group);
        app.add_option("--generate", generate,
                       "Print a manual page or a shell completion and exit; man-COMMAND prints that of a subcommand")
            ->type_name(joined_texts("|"))
            ->group(group);
    }
};

std::string from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

std::string user_file(const std::string& home) {
    const std::string base = from_environment("XDG_CONFIG_HOME");
    if (!base.empty()) return base + "/udtx/config";
    return home.empty() ? std::string() : home + "/.config/udtx/config";
}

Result<Layers> process_layers(const std::string& named_file, std::vector<std::string> known) {
    Layers layers{.files = {},
                  .environment = [](const std::string& name) { return std::getenv(name.c_str()); },
                  .home = from_environment("HOME"),
                  .known = std::move(known)};
    const std::string variable = variable_name("config");
    const std::string named = named_file.empty() ? from_environment(variable.c_str()) : named_file;
    if (named == kNoFile) return layers;
    const std::string user = named.empty() ? user_file(layers.home) : named;
    for (const std::string& path : {user, std::string(kSystemFile)}) {
        if (path.empty()) continue;
        std::string why;
        auto file = read_config(path, path == named ? nullptr : &why);
        if (!file) return file.error();
        if (file.value()) {
            layers.files.push_back(std::move(**file));
        } else if (path == named) {
            return Error{ErrorCode::invalid_argument, "--config: file " + path + " does not exist" +
                                                          (named_file.empty() ? " (set by " + variable + ")" : "")};
        } else if (!why.empty()) {
            layers.left_out.push_back("settings: " + why + "; 'UDTX_CONFIG=none' reads no file");
        }
    }
    return layers;
}

}  // namespace

Result<void> Configured::place(Url& url) const {
    if (host_name) url.host = host_name->value;
    if (!port || url.port_given) return {};
    const auto number = parse_port(port->value);
    if (!number) {
        return Error{ErrorCode::invalid_argument,
                     "Port '" + port->value + "' is not a number from 1 to 65535 (set by " + port->origin + ")"};
    }
    url.port = *number;
    return {};
}

std::string host_of(std::string_view target) {
    if (looks_like_url(target)) {
        const auto url = parse_url(target);
        return url ? url->host : std::string();
    }
    const auto remote = looks_like_ssh(target) ? parse_ssh_target(target) : Result<SshTarget>(SshTarget());
    return remote ? remote->host : std::string();
}

Result<Configured> parse_with_layers(CLI::App& app, const std::vector<std::string>& arguments,
                                     const std::function<std::string()>& target, const Layers& layers) {
    const std::string host = host_of(target());
    const auto chosen = choose(app, layers, host);
    if (!chosen) return chosen.error();
    Configured result{.chosen = *chosen};
    for (const Chosen& one : *chosen) result.origins.note(one.flag, one.origin);
    std::vector<std::string> all = as_arguments(*chosen);
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto parsed = parse_arguments(app, all);
    if (!parsed) return result.origins.attribute(parsed.error());
    result.host_name = find_setting(layers, "hostname", host);
    result.port = find_setting(layers, "port", host);
    return result;
}

Result<Configured> parse_configured(CLI::App& app, const std::vector<std::string>& arguments,
                                    const std::function<std::string()>& target, const ToolFlags& flags) {
    OwnFlags own;
    own.add_to(app);
    use_short_help(app, flags.manuals(app.get_name()));
    Configured result;
    const auto typed = parse_arguments(app, arguments, flags.known);
    if (!typed) return typed.error();
    result.text = *typed;
    if (result.text) return result;
    if (!own.generate.empty()) {
        auto text = generate_text(app, flags.subcommands(), flags.manuals, own.generate);
        if (!text) return text.error();
        result.text = std::move(*text);
        return result;
    }
    const auto layers = process_layers(own.file, flags.known());
    if (!layers) return layers.error();
    auto configured = parse_with_layers(app, arguments, target, *layers);
    if (configured) configured->left_out = layers->left_out;
    if (configured && own.show) configured->text = show_config(app, *configured, *layers, flags.computed);
    return configured;
}

Result<Configured> parse_checked(CLI::App& app, const std::vector<std::string>& arguments,
                                 const std::function<std::string()>& target, const ToolFlags& flags, Origins& origins,
                                 const std::function<Result<void>()>& check) {
    auto parsed = parse_configured(app, arguments, target, flags);
    if (!parsed || parsed->text) return parsed;
    origins = parsed->origins;
    origins.left_out = parsed->left_out;
    if (const auto checked = check(); !checked) return with_short_name(app, origins.attribute(checked.error()));
    return parsed;
}

}  // namespace udtx::apps
