#include "config/layers.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "common/text.hpp"

namespace udtx::apps {
namespace {

constexpr std::array<std::string_view, 5> kTextsOnly{"help", "version", "config", "show-config", "generate"};
/// Keys that are no flags: where a Host is.
constexpr std::array<std::string_view, 2> kHostKeys{"hostname", "port"};
/// What was typed rules out what a file says of the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kExclusive{
    {{"psk-file", "identity"}, {"ipv4", "ipv6"}, {"quiet", "verbose"}}};

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

/// In the form that the flag takes on the command line.
Result<void> shape(Chosen& chosen, const CLI::Option& option, const std::string& home) {
    const bool names_file = option.get_type_name().find("FILE") != std::string::npos ||
                            option.get_type_name().find("DIR") != std::string::npos;
    for (std::string& value : chosen.values) {
        if (is_flag(option)) {
            const auto word = truth(value);
            if (!word) {
                return Error{ErrorCode::invalid_argument,
                             chosen.origin + ": '" + chosen.flag.substr(2) + "' is yes or no, not '" + value + "'"};
            }
            value = *word;
        } else if (names_file && value.starts_with("~/") && !home.empty()) {
            value = home + value.substr(1);
        }
    }
    return {};
}

bool ruled_out(const CLI::App& app, const std::vector<Chosen>& chosen, const std::string& key) {
    const auto is_set = [&](std::string_view other) {
        const std::string flag = "--" + std::string(other);
        const CLI::Option* option = app.get_option_no_throw(flag);
        return (option != nullptr && option->count() > 0) ||
               std::any_of(chosen.begin(), chosen.end(), [&](const Chosen& c) { return c.flag == flag; });
    };
    return std::any_of(kExclusive.begin(), kExclusive.end(), [&](const auto& pair) {
        return (key == pair.first && is_set(pair.second)) || (key == pair.second && is_set(pair.first));
    });
}

Chosen from_file(const ConfigFile& file, const std::string& key, const std::string& host, bool all) {
    Chosen found{.flag = "--" + key, .values = {}, .origin = {}};
    for (const HostBlock& block : file.blocks) {
        if (!block.applies_to(host)) continue;
        for (const Setting& setting : block.settings) {
            if (setting.key != key || (!found.values.empty() && !all)) continue;
            if (found.values.empty()) found.origin = file.name + ":" + std::to_string(setting.line);
            found.values.push_back(setting.value);
        }
    }
    return found;
}

Result<void> check_keys(const Layers& layers) {
    for (const ConfigFile& file : layers.files) {
        for (const HostBlock& block : file.blocks) {
            for (const Setting& setting : block.settings) {
                if (std::find(layers.known.begin(), layers.known.end(), setting.key) != layers.known.end()) continue;
                if (std::find(kHostKeys.begin(), kHostKeys.end(), setting.key) != kHostKeys.end()) continue;
                const auto guess = nearest(setting.key, layers.known);
                return Error{ErrorCode::invalid_argument,
                             file.name + ":" + std::to_string(setting.line) + ": unknown setting '" + setting.key +
                                 "'" +
                                 (guess ? "; did you mean " + *guess + "?" : "; the long names of flags are known")};
            }
        }
    }
    return {};
}

}  // namespace

std::vector<std::string> setting_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (settable(*option)) names.push_back(option->get_lnames().front());
    }
    return names;
}

std::string variable_name(const std::string& key) {
    std::string name = "UDTX_" + key;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    return name;
}

Chosen find_setting(const Layers& layers, const std::string& key, const std::string& host) {
    for (const ConfigFile& file : layers.files) {
        if (Chosen found = from_file(file, key, host, false); !found.values.empty()) return found;
    }
    return {};
}

Result<std::vector<Chosen>> choose(const CLI::App& app, const Layers& layers, const std::string& host) {
    if (const auto checked = check_keys(layers); !checked) return checked.error();
    std::vector<Chosen> chosen;
    const auto take = [&](Chosen found, const CLI::Option& option) -> Result<void> {
        if (found.values.empty()) return {};
        if (const auto shaped = shape(found, option, layers.home); !shaped) return shaped.error();
        chosen.push_back(std::move(found));
        return {};
    };
    const auto open = [&](const CLI::Option& option) {
        if (!settable(option) || option.count() > 0) return false;
        const std::string& key = option.get_lnames().front();
        return !ruled_out(app, chosen, key) &&
               std::none_of(chosen.begin(), chosen.end(), [&](const Chosen& c) { return c.flag == "--" + key; });
    };
    for (const CLI::Option* option : app.get_options()) {
        if (!open(*option)) continue;
        const std::string& key = option->get_lnames().front();
        const std::string variable = variable_name(key);
        const char* value = layers.environment(variable);
        if (value == nullptr || *value == '\0') continue;
        if (const auto taken = take({"--" + key, {value}, variable}, *option); !taken) return taken.error();
    }
    for (const ConfigFile& file : layers.files) {
        for (const CLI::Option* option : app.get_options()) {
            if (!open(*option)) continue;
            const std::string& key = option->get_lnames().front();
            if (const auto taken = take(from_file(file, key, host, repeatable(*option)), *option); !taken) {
                return taken.error();
            }
        }
    }
    return chosen;
}

std::vector<std::string> as_arguments(const std::vector<Chosen>& chosen) {
    std::vector<std::string> arguments;
    for (const Chosen& one : chosen) {
        for (const std::string& value : one.values) arguments.push_back(one.flag + "=" + value);
    }
    return arguments;
}

}  // namespace udtx::apps
