#include "config/show.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "common/command_line.hpp"

namespace udtx::apps {
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
