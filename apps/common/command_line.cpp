#include "common/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "common/text.hpp"

#ifndef UDTX_VERSION
#error "UDTX_VERSION is set by the build"
#endif

namespace udtx::apps {
namespace {

constexpr const char* kNotCompressed = "what is sent is not compressed";
/// Of rsync and scp.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kHabits{
    {{"-z", kNotCompressed},
     {"-C", kNotCompressed},
     {"--compress", kNotCompressed},
     {"--partial", "what has come of a file is kept and continued in any case"}}};

std::vector<std::string> long_flags(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    return out;
}

/// One letter resembles every other: there is nothing to guess.
std::string advice_for(const CLI::App& app, const std::string& name) {
    const auto habit = std::find_if(kHabits.begin(), kHabits.end(), [&](const auto& h) { return h.first == name; });
    if (habit != kHabits.end()) return std::string("; ") + habit->second + ", leave it out";
    const auto guess = name.size() > 2 ? nearest(name, long_flags(app)) : std::nullopt;
    return guess ? "; did you mean " + *guess + "?" : "; see --help";
}

Error unknown_argument(const CLI::App& app, const std::vector<std::string>& extras) {
    const auto flag = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& s) { return s.size() > 1 && s.front() == '-'; });
    if (flag == extras.end()) {
        return {ErrorCode::invalid_argument,
                "unexpected argument '" + extras.front() + "'; see " + app.get_name() + " --help"};
    }
    std::string name = flag->substr(0, flag->find('='));
    // Of letters in one word the first is the one that nobody knows.
    if (name.size() > 2 && name[1] != '-' && static_cast<unsigned char>(name[1]) < 0x80) name.resize(2);
    return {ErrorCode::invalid_argument, "unknown flag '" + name + "'" + advice_for(app, name)};
}

/// Defaults are known (--show-config gives them), and described in words.
class HouseFormatter : public CLI::Formatter {
  public:
    [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_items_expected_max() == 0) return {};
        const bool repeatable = option->get_expected_max() == CLI::detail::expected_max_vector_size;
        return " " + option->get_type_name() + (repeatable ? " ..." : "");
    }
};

}  // namespace

void use_house_style(CLI::App& app) {
    app.formatter(std::make_shared<HouseFormatter>());
    app.option_defaults()->always_capture_default();
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.allow_extras();
    app.set_help_flag("-h,--help", "Print this text and exit");
    app.set_version_flag("--version", app.get_name() + " " + UDTX_VERSION, "Print the version and exit");
    app.get_formatter()->column_width(34);
}

Result<EarlyText> parse_arguments(CLI::App& app, std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        return EarlyText(app.help());
    } catch (const CLI::CallForVersion& e) {
        return EarlyText(std::string(e.what()) + "\n");
    } catch (const CLI::ParseError& e) {
        return Error{ErrorCode::invalid_argument, std::string(e.what()) + "; see " + app.get_name() + " --help"};
    }
    std::vector<std::string> extras = app.remaining();
    std::erase(extras, "--");  // CLI11 counts the mark itself among them
    if (!extras.empty()) return unknown_argument(app, extras);
    return EarlyText();
}

Error with_short_name(const CLI::App& app, Error error) {
    const std::string flag = error.message.substr(0, error.message.find_first_of(": "));
    const CLI::Option* const option = flag.starts_with("--") ? app.get_option_no_throw(flag) : nullptr;
    if (option != nullptr && !option->get_snames().empty()) {
        error.message.insert(0, "-" + option->get_snames().front() + "/");
    }
    return error;
}

}  // namespace udtx::apps
