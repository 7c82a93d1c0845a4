#include "config/show.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <sstream>
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

void line(std::ostream& out, const std::string& key, const std::string& value, const std::string& origin) {
    // A key without a value becomes a comment, so that the output is a valid configuration file.
    out << std::left << std::setw(17) << (value.empty() ? "# " + key : key) << ' ' << std::setw(27)
        << (value.empty() ? "(not set)" : in_a_file(value)) << " # " << origin << '\n';
}

/// The option's values as a configuration file would give them.
std::vector<std::string> values_of(const CLI::Option& option) {
    const bool flag = option.get_items_expected_max() == 0;
    if (option.count() == 0 && option.get_expected_max() > 1) return {""};
    if (option.count() == 0) return {flag ? "no" : option.get_default_str()};
    if (!flag) return option.reduced_results();
    return {option.as<bool>() ? "yes" : "no"};
}

/// The origin of each value of `option`. All values that are not typed come from one layer, in its order.
std::vector<std::string> origins_of(const CLI::Option& option, const Configured& configured) {
    std::vector<std::string> origins;
    for (const Chosen& chosen : configured.chosen) {
        if (chosen.flag == "--" + option.get_lnames().front()) origins.push_back(chosen.origin);
    }
    if (origins.empty()) origins.emplace_back(option.count() > 0 ? "command line" : "default");
    return origins;
}

}  // namespace

std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers) {
    std::ostringstream out;
    for (const ConfigFile& file : layers.files) out << "# read: " << file.name << '\n';
    if (layers.files.empty()) out << "# no configuration file was read\n";
    for (const auto& [key, set] : {std::pair("hostname", &configured.host_name), std::pair("port", &configured.port)}) {
        if (*set) line(out, key, (*set)->value, (*set)->origin);
    }
    for (const std::string& key : setting_names(app)) {
        const CLI::Option& option = *option_named(app, key);
        const std::vector<std::string> origins = origins_of(option, configured);
        std::size_t at = 0;
        for (const std::string& value : values_of(option))
            line(out, key, value, origins[std::min(at++, origins.size() - 1)]);
    }
    return out.str();
}

}  // namespace udtx::apps
