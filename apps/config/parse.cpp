#include "config/parse.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "config/generate.hpp"

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

namespace {

/// Quotes values with blanks at the ends, because the parser strips bare ones.
std::string in_a_file(const std::string& value) {
    constexpr const char* kBlanks = " \t";
    const bool bare =
        !value.empty() && value.find_first_of(kBlanks) != 0 && value.find_last_of(kBlanks) != value.size() - 1;
    return bare ? value : '"' + value + '"';
}

/// What a switch turns on, too. --recursive is not here: it has no effect without --files-from, and there -a does not
/// imply it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kImplied{{{"archive", "preserve"},
                                                                                 {"archive", "hard-links"},
                                                                                 {"archive", "xattrs"},
                                                                                 {"archive", "owner"},
                                                                                 {"set-id", "preserve"},
                                                                                 {"json-stream", "json"}}};
/// A switch that is on unless a flag excludes it.
constexpr std::string_view kUsuallyOn = "links";

void line(std::ostream& out, const std::string& key, const std::string& value, const std::string& origin) {
    out << std::left << std::setw(17) << key << ' ' << std::setw(27) << value << " # " << origin << '\n';
}

/// The values of an option that was typed or set elsewhere, as a configuration file would give them.
std::vector<std::string> values_of(const CLI::Option& option) {
    if (option.get_items_expected_max() != 0) return option.reduced_results();
    return {option.as<bool>() ? "yes" : "no"};
}

/// The origin of each value of `option`. All values that are not typed come from one layer, in its order.
std::vector<std::string> origins_of(const CLI::Option& option, const Configured& configured) {
    std::vector<std::string> origins;
    for (const Chosen& chosen : configured.chosen) {
        if (chosen.flag == "--" + option.get_lnames().front()) origins.push_back(chosen.origin);
    }
    if (origins.empty()) origins.emplace_back("command line");
    return origins;
}

/// The switch that is on and turns `key` on, too.
std::optional<std::string_view> implied_by(const CLI::App& app, std::string_view key) {
    for (const auto& [on, also] : kImplied) {
        if (also == key && is_on(app, on)) return on;
    }
    return std::nullopt;
}

/// A line for a setting that nobody set.
void default_line(std::ostream& out, const CLI::App& app, const std::string& key, const ComputedDefault& computed) {
    const CLI::Option& option = *option_named(app, key);
    if (option.get_items_expected_max() == 0) {
        return line(out, key, key == kUsuallyOn && !is_excluded(app, key) ? "yes" : "no", "default");
    }
    const bool several = option.get_expected_max() > 1;
    if (!several && !option.get_default_str().empty()) {
        return line(out, key, in_a_file(option.get_default_str()), "default");
    }
    // These lines are comments. Without the origins the output is a configuration file, and there a default that
    // depends on the run or on the machine must not become a fixed value.
    const std::string value = computed(key);
    line(out, "# " + key, value.empty() ? "(not set)" : value, "default");
}

}  // namespace

std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers,
                        const ComputedDefault& computed) {
    std::ostringstream out;
    for (const ConfigFile& file : layers.files) out << "# read: " << file.name << '\n';
    for (const std::string& why : layers.left_out) out << "# " << why << '\n';
    if (layers.files.empty()) out << "# no configuration file was read\n";
    for (const auto& [key, set] : {std::pair("hostname", &configured.host_name), std::pair("port", &configured.port)}) {
        if (*set) line(out, key, in_a_file((*set)->value), (*set)->origin);
    }
    for (const std::string& key : setting_names(app)) {
        const CLI::Option& option = *option_named(app, key);
        if (const auto on = implied_by(app, key); on && !is_on(app, key)) {
            line(out, key, "yes", "--" + std::string(*on));
            continue;
        }
        if (option.count() == 0) {
            default_line(out, app, key, computed);
            continue;
        }
        const std::vector<std::string> origins = origins_of(option, configured);
        std::size_t at = 0;
        for (const std::string& value : values_of(option))
            line(out, key, in_a_file(value), origins[std::min(at++, origins.size() - 1)]);
    }
    return out.str();
}

}  // namespace udtx::apps
