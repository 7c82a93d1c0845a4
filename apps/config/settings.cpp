#include "config/settings.hpp"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/process.hpp"
#include "common/text.hpp"
#include "config/generate.hpp"

namespace udtx::apps {
namespace {

std::string normal_key(std::string_view typed) {
    std::string key(typed);
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
    return std::string(flag_meant_by(key));
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!(text = trim(text)).empty()) {
        const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return out;
}

bool matches(const std::string& pattern, const std::string& host) {
    return fnmatch(pattern.c_str(), host.c_str(), FNM_CASEFOLD) == 0;
}

Error at(const std::string& name, int line, const std::string& what) {
    return {ErrorCode::invalid_argument, name + ":" + std::to_string(line) + ": " + what};
}

/// Parses "key value" or "key = value". Double quotes preserve blanks at the ends of the value.
Result<Setting> parse_line(std::string_view text, const std::string& name, int line) {
    const std::size_t end = std::min(text.find_first_of(" \t="), text.size());
    Setting setting{.key = normal_key(text.substr(0, end)), .value = {}, .line = line};
    std::string_view value = trim(text.substr(end));
    if (value.starts_with('=')) value = trim(value.substr(1));
    if (value.starts_with('"')) {
        if (value.size() < 2 || !value.ends_with('"')) return at(name, line, "the closing quote is missing");
        value = value.substr(1, value.size() - 2);
    }
    if (setting.key.empty()) return at(name, line, "a line is 'key value', 'Host PATTERN...' or '# comment'");
    if (value.empty()) return at(name, line, "'" + setting.key + "' has no value");
    setting.value = std::string(value);
    return setting;
}

}  // namespace

bool HostBlock::applies_to(std::string_view host) const {
    if (patterns.empty()) return true;
    if (host.empty()) return false;
    const std::string name(host);
    bool wanted = false;
    for (const std::string& pattern : patterns) {
        const bool negated = pattern.starts_with('!');
        if (!matches(negated ? pattern.substr(1) : pattern, name)) continue;
        if (negated) return false;
        wanted = true;
    }
    return wanted;
}

Result<ConfigFile> parse_config(std::string_view text, std::string name) {
    ConfigFile file{.name = std::move(name), .blocks = {HostBlock{}}};
    int number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty() || line.starts_with('#')) continue;
        auto setting = parse_line(line, file.name, number);
        if (!setting) return setting.error();
        if (setting->key == "host") {
            file.blocks.push_back(HostBlock{.patterns = words(setting->value), .settings = {}});
        } else {
            file.blocks.back().settings.push_back(std::move(*setting));
        }
    }
    return file;
}

Result<std::optional<ConfigFile>> read_config(const std::string& path, std::string* foreign) {
    const auto left_out = [&](std::string why) {
        *foreign = std::move(why);
        return std::optional<ConfigFile>();
    };
    struct stat status {};
    const auto closed = [&] {
        return failed_call(ErrorCode::file_io, "cannot read '" + escape_for_terminal(path) + '\'', errno);
    };
    if (::stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<ConfigFile>();
        if (errno == EACCES && foreign != nullptr) return left_out(closed().message);
        return closed();
    }
    const bool theirs = status.st_uid != 0 && status.st_uid != ::geteuid();
    if (theirs && foreign != nullptr) return left_out(path + " belongs to another user and is not read");
    if (foreign != nullptr && ::access(path.c_str(), R_OK) != 0 && errno == EACCES) return left_out(closed().message);
    if (theirs || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{
            ErrorCode::invalid_argument,
            path + " can be changed by others and is not read: chown it to yourself and 'chmod go-w " + path + "'"};
    }
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::file_io, "cannot read " + path + ": it is not a file"};
    const auto text = read_file(path);
    if (!text) return text.error();
    auto parsed = parse_config(*text, path);
    if (!parsed) return parsed.error();
    return std::optional<ConfigFile>(std::move(*parsed));
}

namespace {

constexpr std::array<std::string_view, 6> kTextsOnly{"help",   "help-all",    "version",
                                                     "config", "show-config", "generate"};
/// Keys that are not flags: they give a host's address.
constexpr std::array<std::string_view, 2> kHostKeys{"hostname", "port"};
/// Pairs of flags that exclude each other: a typed flag makes a file's value of the other void.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kExclusive{{{"psk-file", "identity"},
                                                                                   {"ipv4", "ipv6"},
                                                                                   {"quiet", "verbose"},
                                                                                   {"rate", "bwlimit"},
                                                                                   {"links", "no-links"},
                                                                                   {"links", "safe-links"},
                                                                                   {"safe-links", "no-links"}}};

bool settable(const CLI::Option& option) {
    return !option.get_lnames().empty() &&
           std::find(kTextsOnly.begin(), kTextsOnly.end(), option.get_lnames().front()) == kTextsOnly.end();
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

bool repeatable(const CLI::Option& option) { return option.get_expected_max() > 1; }

std::optional<std::string> truth(std::string_view typed) {
    std::string text(typed);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    if (text == "yes" || text == "on" || text == "true" || text == "1") return "true";
    if (text == "no" || text == "off" || text == "false" || text == "0") return "false";
    return std::nullopt;
}

bool is_set(const char* variable) { return variable != nullptr && *variable != '\0'; }

/// Converts the value to the form that the flag takes on the command line.
Result<void> shape(Chosen& chosen, const CLI::Option& option, const std::string& home) {
    if (is_flag(option)) {
        const auto word = truth(chosen.value);
        if (!word) {
            return Error{ErrorCode::invalid_argument, chosen.origin + ": '" + chosen.flag.substr(2) +
                                                          "' must be yes or no, not '" + chosen.value + "'"};
        }
        chosen.value = *word;
        return {};
    }
    const bool names_file = option.get_type_name().find("FILE") != std::string::npos ||
                            option.get_type_name().find("DIR") != std::string::npos;
    if (names_file && chosen.value.starts_with("~/") && !home.empty()) chosen.value = home + chosen.value.substr(1);
    return {};
}

/// True if a value of `key` was typed or set elsewhere. A switch must be on.
bool is_on(const CLI::App& app, std::string_view key) {
    const CLI::Option* option = option_named(app, key);
    return option != nullptr && option->count() > 0 && (!is_flag(*option) || option->as<bool>());
}

/// True if `is_set` is true for a flag that excludes `key`.
bool excludes(std::string_view key, const std::function<bool(std::string_view)>& is_set) {
    return std::any_of(kExclusive.begin(), kExclusive.end(), [&](const auto& pair) {
        return (key == pair.first && is_set(pair.second)) || (key == pair.second && is_set(pair.first));
    });
}

/// True if a flag that is_on() excludes `key`.
bool is_excluded(const CLI::App& app, std::string_view key) {
    return excludes(key, [&](std::string_view other) { return is_on(app, other); });
}

bool ruled_out(const CLI::App& app, const std::vector<Chosen>& chosen, const std::string& key) {
    return excludes(key, [&](std::string_view other) {
        const std::string flag = "--" + std::string(other);
        const CLI::Option* option = option_named(app, other);
        if (option == nullptr) return false;
        // A switch that is off excludes nothing.
        return is_on(app, other) || std::any_of(chosen.begin(), chosen.end(), [&](const Chosen& c) {
                   return c.flag == flag && !(is_flag(*option) && c.value == "false");
               });
    });
}

/// True if the flag has no value yet from the command line or an earlier layer, and no flag that has one rules it out.
bool is_open(const CLI::App& app, const std::vector<Chosen>& chosen, const CLI::Option& option) {
    if (!settable(option) || option.count() > 0) return false;
    const std::string& key = option.get_lnames().front();
    return !ruled_out(app, chosen, key) &&
           std::none_of(chosen.begin(), chosen.end(), [&](const Chosen& c) { return c.flag == "--" + key; });
}

/// Calls `take` with each value of `key` that the file has for `host`, until `take` returns false.
void for_each_value(const ConfigFile& file, const std::string& key, const std::string& host,
                    const std::function<bool(const Setting&)>& take) {
    for (const HostBlock& block : file.blocks) {
        if (!block.applies_to(host)) continue;
        for (const Setting& setting : block.settings) {
            if (setting.key == key && !take(setting)) return;
        }
    }
}

Chosen chosen_from(const ConfigFile& file, const Setting& setting) {
    return {"--" + setting.key, setting.value, file.name + ":" + std::to_string(setting.line)};
}

Result<void> check_keys(const Layers& layers) {
    for (const ConfigFile& file : layers.files) {
        for (const HostBlock& block : file.blocks) {
            for (const Setting& setting : block.settings) {
                if (std::find(layers.known.begin(), layers.known.end(), setting.key) != layers.known.end()) continue;
                if (std::find(kHostKeys.begin(), kHostKeys.end(), setting.key) != kHostKeys.end()) continue;
                const auto guess = nearest_harmless(setting.key, layers.known);
                return Error{ErrorCode::invalid_argument,
                             file.name + ":" + std::to_string(setting.line) + ": unknown setting '" + setting.key +
                                 "'" + (guess ? "; did you mean " + *guess + "?" : "; use the long name of a flag")};
            }
        }
    }
    return {};
}

/// The settings of one file for flags that have no value yet, in the order of their lines.
std::vector<const Setting*> open_settings(const CLI::App& app, const ConfigFile& file, const std::string& host,
                                          const std::vector<Chosen>& chosen) {
    std::vector<const Setting*> found;
    for (const CLI::Option* option : app.get_options()) {
        if (!is_open(app, chosen, *option)) continue;
        for_each_value(file, option->get_lnames().front(), host, [&](const Setting& setting) {
            found.push_back(&setting);
            return repeatable(*option);
        });
    }
    std::stable_sort(found.begin(), found.end(), [](const Setting* a, const Setting* b) { return a->line < b->line; });
    return found;
}

/// The environment variable of a flag: UDTX_MIN_RATE for "min-rate".
std::string variable_name(const std::string& key) {
    std::string name = "UDTX_" + key;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    return name;
}

/// The value of a key that is not a flag (hostname, port).
std::optional<Chosen> find_setting(const Layers& layers, const std::string& key, const std::string& host) {
    std::optional<Chosen> found;
    for (const ConfigFile& file : layers.files) {
        for_each_value(file, key, host, [&](const Setting& setting) {
            found = chosen_from(file, setting);
            return false;
        });
        if (found) break;
    }
    return found;
}

/// The values of all flags of `app` that were not typed but are set elsewhere. A file's values are in the order of its
/// lines, which decides among --include and --exclude. `app` must have parsed the command line.
Result<std::vector<Chosen>> choose(const CLI::App& app, const Layers& layers, const std::string& host) {
    if (const auto checked = check_keys(layers); !checked) return checked.error();
    std::vector<Chosen> chosen;
    const auto take = [&](Chosen found, const CLI::Option& option) -> Result<void> {
        if (const auto shaped = shape(found, option, layers.home); !shaped) return shaped.error();
        chosen.push_back(std::move(found));
        return {};
    };
    for (const CLI::Option* option : app.get_options()) {
        if (!is_open(app, chosen, *option)) continue;
        const std::string& key = option->get_lnames().front();
        std::string variable = variable_name(key);
        const char* value = layers.environment(variable);
        const std::string other(other_name_of(key));
        if (!is_set(value) && !other.empty()) value = layers.environment(variable = variable_name(other));
        if (!is_set(value)) continue;
        if (const auto taken = take({"--" + key, value, variable}, *option); !taken) return taken.error();
    }
    for (const ConfigFile& file : layers.files) {
        for (const Setting* setting : open_settings(app, file, host, chosen)) {
            // A setting just taken may rule out this one. Further values of the same flag are allowed.
            if (ruled_out(app, chosen, setting->key)) continue;
            const CLI::Option& option = *option_named(app, setting->key);
            if (const auto taken = take(chosen_from(file, *setting), option); !taken) return taken.error();
        }
    }
    return chosen;
}

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

/// Quotes values with blanks at the ends, because the parser strips bare ones.
std::string in_a_file(const std::string& value) {
    const bool bare = !value.empty() && trim(value).size() == value.size();
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

std::vector<std::string> setting_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (settable(*option)) names.push_back(option->get_lnames().front());
    }
    return names;
}

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
    std::vector<std::string> all;
    for (const Chosen& one : *chosen) all.push_back(one.flag + "=" + one.value);
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto parsed = parse_arguments(app, all);
    if (!parsed) return result.origins.attribute(parsed.error());
    result.host_name = find_setting(layers, "hostname", host);
    result.port = find_setting(layers, "port", host);
    return result;
}

Result<Configured> parse_checked(CLI::App& app, const std::vector<std::string>& arguments,
                                 const std::function<std::string()>& target, const ToolFlags& flags, Origins& origins,
                                 const std::function<Result<void>()>& check) {
    OwnFlags own;
    own.add_to(app);
    use_short_help(app, flags.manuals(app.get_name()));
    const auto typed = parse_arguments(app, arguments, flags.known);
    if (!typed) return typed.error();
    if (typed.value()) return Configured{.text = *typed};
    if (!own.generate.empty()) {
        auto text = generate_text(app, flags.subcommands(), flags.manuals, own.generate);
        if (!text) return text.error();
        return Configured{.text = std::move(*text)};
    }
    const auto layers = process_layers(own.file, flags.known());
    if (!layers) return layers.error();
    auto parsed = parse_with_layers(app, arguments, target, *layers);
    if (!parsed) return parsed;
    if (own.show) {
        parsed->text = show_config(app, *parsed, *layers, flags.computed);
        return parsed;
    }
    origins = parsed->origins;
    origins.left_out = layers->left_out;
    if (const auto checked = check(); !checked) return with_short_name(app, origins.attribute(checked.error()));
    return parsed;
}

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
