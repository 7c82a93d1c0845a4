#include "config/settings.hpp"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string normal_key(std::string_view typed) {
    std::string key(typed);
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
    return std::string(flag_meant_by(key));
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!(text = trim(text)).empty()) {
        const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
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
    const auto closed = [&] { return "cannot read '" + escape_for_terminal(path) + "': " + std::strerror(errno); };
    if (::stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<ConfigFile>();
        if (errno == EACCES && foreign != nullptr) return left_out(closed());
        return Error{ErrorCode::file_io, closed()};
    }
    const bool theirs = status.st_uid != 0 && status.st_uid != ::geteuid();
    if (theirs && foreign != nullptr) return left_out(path + " belongs to another user and is not read");
    if (foreign != nullptr && ::access(path.c_str(), R_OK) != 0 && errno == EACCES) return left_out(closed());
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

/// True if `is_set` is true for a flag that excludes `key`.
bool excludes(std::string_view key, const std::function<bool(std::string_view)>& is_set) {
    return std::any_of(kExclusive.begin(), kExclusive.end(), [&](const auto& pair) {
        return (key == pair.first && is_set(pair.second)) || (key == pair.second && is_set(pair.first));
    });
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

}  // namespace

std::vector<std::string> setting_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (settable(*option)) names.push_back(option->get_lnames().front());
    }
    return names;
}

bool is_on(const CLI::App& app, std::string_view key) {
    const CLI::Option* option = option_named(app, key);
    return option != nullptr && option->count() > 0 && (!is_flag(*option) || option->as<bool>());
}

bool is_excluded(const CLI::App& app, std::string_view key) {
    return excludes(key, [&](std::string_view other) { return is_on(app, other); });
}

std::string variable_name(const std::string& key) {
    std::string name = "UDTX_" + key;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    return name;
}

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

std::vector<std::string> as_arguments(const std::vector<Chosen>& chosen) {
    std::vector<std::string> arguments;
    for (const Chosen& one : chosen) arguments.push_back(one.flag + "=" + one.value);
    return arguments;
}

}  // namespace udtx::apps
