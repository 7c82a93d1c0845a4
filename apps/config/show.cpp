#include "config/show.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>
#include <vector>

namespace udtx::apps {
namespace {

void line(std::ostream& out, const std::string& key, const std::string& value, const std::string& origin) {
    // What has no value is a comment, so that the rest is a file of settings.
    out << std::left << std::setw(17) << (value.empty() ? "# " + key : key) << ' ' << std::setw(27)
        << (value.empty() ? "(not set)" : value) << " # " << origin << '\n';
}

/// As a file would say it.
std::vector<std::string> values_of(const CLI::Option& option) {
    const bool flag = option.get_items_expected_max() == 0;
    if (option.count() == 0 && option.get_expected_max() > 1) return {""};
    if (option.count() == 0) return {flag ? "no" : option.get_default_str()};
    if (!flag) return option.reduced_results();
    return {option.as<bool>() ? "yes" : "no"};
}

std::string origin_of(const CLI::Option& option, const Configured& configured) {
    const std::string flag = "--" + option.get_lnames().front();
    const auto found = std::find_if(configured.chosen.begin(), configured.chosen.end(),
                                    [&](const Chosen& chosen) { return chosen.flag == flag; });
    if (found != configured.chosen.end()) return found->origin;
    return option.count() > 0 ? "command line" : "default";
}

}  // namespace

std::string show_config(const CLI::App& app, const Configured& configured, const Layers& layers) {
    std::ostringstream out;
    for (const ConfigFile& file : layers.files) out << "# read: " << file.name << '\n';
    if (layers.files.empty()) out << "# no configuration file was read\n";
    for (const auto& [key, set] : {std::pair("hostname", &configured.host_name), std::pair("port", &configured.port)}) {
        if (!set->values.empty()) line(out, key, set->values.front(), set->origin);
    }
    for (const std::string& key : setting_names(app)) {
        const CLI::Option& option = *app.get_option("--" + key);
        for (const std::string& value : values_of(option)) line(out, key, value, origin_of(option, configured));
    }
    return out.str();
}

}  // namespace udtx::apps
