#include "common/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "common/habits.hpp"
#include "common/process.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

using OfOthers = std::function<std::vector<std::string>()>;

/// The second name of a flag, and the flag that it means.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kOtherNames{{{"streams", "threads"}}};

/// Replaces second names of flags by the flags' own names.
void replace_other_names(std::vector<std::string>& arguments) {
    for (std::string& word : arguments) {
        if (word == "--") return;
        if (!word.starts_with("--")) continue;
        const std::string name = word.substr(2, word.find('=') - 2);
        word.replace(2, name.size(), flag_meant_by(name));
    }
}

std::vector<std::string> long_flags(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    return out;
}

/// Advice for an unknown flag. A flag of one letter gets no guess, because it resembles every other.
std::string advice_for(const CLI::App& app, const std::string& name, const OfOthers& of_others) {
    if (const auto habit = advice_for_habit(name)) return "; " + *habit;
    if (of_others && name.size() > 2) {
        const auto others = of_others();
        if (std::find(others.begin(), others.end(), name.substr(2)) != others.end()) {
            return std::string("; it is a flag of ") + (app.get_name() == "udtx-send" ? "udtx-recv" : "udtx-send");
        }
    }
    const auto guess = name.size() > 2 ? nearest_harmless(name, long_flags(app)) : std::nullopt;
    return guess ? "; did you mean " + *guess + "?" : "; see --help";
}

Error unknown_argument(const CLI::App& app, const std::vector<std::string>& extras, const OfOthers& of_others) {
    const auto flag = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& s) { return s.size() > 1 && s.front() == '-'; });
    if (flag == extras.end()) {
        return {ErrorCode::invalid_argument,
                "unexpected argument '" + extras.front() + "'; see " + app.get_name() + " --help"};
    }
    std::string name = flag->substr(0, flag->find('='));
    // If letters share one word ("-abc"), the first of them is the unknown one.
    if (name.size() > 2 && name[1] != '-' && static_cast<unsigned char>(name[1]) < 0x80) name.resize(2);
    return {ErrorCode::invalid_argument, "unknown flag '" + name + "'" + advice_for(app, name, of_others)};
}

/// Finds a `--flag=` without a value. A script with an unset variable may write one, and CLI11 would take the next word
/// as its value.
std::optional<Error> missing_value(const CLI::App& app, const std::vector<std::string>& arguments) {
    for (const std::string& word : arguments) {
        if (word == "--") break;
        if (word.size() < 4 || !word.starts_with("--") || word.find('=') != word.size() - 1) continue;
        const std::string flag = word.substr(0, word.size() - 1);
        if (option_named(app, std::string_view(flag).substr(2)) == nullptr) continue;
        return Error{ErrorCode::invalid_argument, flag + ": the value after '=' is missing"};
    }
    return std::nullopt;
}

std::optional<Error> empty_value(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional() || option->get_items_expected_max() == 0) continue;
        const auto& values = option->results();
        if (std::find(values.begin(), values.end(), "") == values.end()) continue;
        return Error{ErrorCode::invalid_argument, "--" + option->get_lnames().front() + ": the value is empty"};
    }
    return std::nullopt;
}

/// CLI11 takes "-22" for a number and therefore for a name, also the rest of "-p22".
std::optional<std::string> number_as_name(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_positional()) continue;
        for (const std::string& value : option->results()) {
            if (value.size() > 1 && value.front() == '-') return value;
        }
    }
    return std::nullopt;
}

constexpr std::size_t kHelpWidth = 110;    // characters
constexpr std::size_t kDescriptions = 34;  // column in which descriptions start

/// Leaves out defaults: --show-config prints them, and descriptions mention them.
class HouseFormatter : public CLI::Formatter {
  public:
    [[nodiscard]] std::string make_option_desc(const CLI::Option* option) const override {
        return wrapped(option->get_description(), kHelpWidth - kDescriptions);
    }
    [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_items_expected_max() == 0) return {};
        const bool repeatable = option->get_expected_max() == CLI::detail::expected_max_vector_size;
        return " " + option->get_type_name() + (repeatable ? " ..." : "");
    }
};

/// Lists only the flags of the manual's tasks, except for --help-all.
class ShortFormatter : public HouseFormatter {
  public:
    explicit ShortFormatter(Manual manual) : manual_(std::move(manual)) {}

    [[nodiscard]] std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        if (mode == CLI::AppFormatMode::All) return HouseFormatter::make_help(app, name, CLI::AppFormatMode::Normal);
        std::string out = app->get_description() + "\n\nUsage:\n";
        for (const auto synopsis : manual_.synopses) {
            out.append("  ").append(app->get_name()).append(" [flags] ").append(synopsis) += '\n';
        }
        for (const auto& task : manual_.tasks) {
            out.append("\n").append(task.name).append(":\n");
            for (const auto flag : task.flags) {
                if (const auto* option = option_named(*app, flag)) out += make_option(option, false);
            }
        }
        return out + '\n' + short_text(manual_, app->get_name());
    }

  private:
    Manual manual_;
};

}  // namespace

std::optional<std::string> nearest_harmless(std::string_view typed, std::vector<std::string> known) {
    std::erase_if(known, [](const std::string& name) { return name.find("delete") != std::string::npos; });
    return nearest(typed, known);
}

std::string_view flag_meant_by(std::string_view name) noexcept {
    const auto* found = std::ranges::find(kOtherNames, name, [](const auto& pair) { return pair.first; });
    return found == kOtherNames.end() ? name : found->second;
}

std::string_view other_name_of(std::string_view flag) noexcept {
    const auto* found = std::ranges::find(kOtherNames, flag, [](const auto& pair) { return pair.second; });
    return found == kOtherNames.end() ? std::string_view() : found->first;
}

void use_house_style(CLI::App& app) {
    app.formatter(std::make_shared<HouseFormatter>());
    app.option_defaults()->always_capture_default();
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.allow_extras();
    app.set_help_flag("-h,--help", "Print this text and exit");
    app.set_version_flag("-V,--version", app.get_name() + " " + program_version(), "Print the version and exit");
    app.get_formatter()->column_width(kDescriptions);
}

void use_short_help(CLI::App& app, const Manual& manual) {
    app.set_help_flag("-h,--help", "Print the most used flags and exit");
    app.set_help_all_flag("--help-all", "Print every flag and exit");
    app.footer(plain_text(manual));
    app.formatter(std::make_shared<ShortFormatter>(manual));
    app.get_formatter()->column_width(kDescriptions);
}

const CLI::Option* option_named(const CLI::App& app, std::string_view name) {
    for (const CLI::Option* option : app.get_options()) {
        const auto& names = option->get_lnames();
        if (std::find(names.begin(), names.end(), name) != names.end()) return option;
    }
    return nullptr;
}

Result<EarlyText> parse_arguments(CLI::App& app, std::vector<std::string> arguments, const OfOthers& of_others) {
    if (arguments.size() == 1 && arguments.front() == "help") arguments = {"--help"};
    replace_other_names(arguments);
    if (auto missing = missing_value(app, arguments)) return *missing;
    const bool names_follow = std::find(arguments.begin(), arguments.end(), "--") != arguments.end();
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes arguments from the back
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        return EarlyText(app.help());
    } catch (const CLI::CallForAllHelp&) {
        return EarlyText(app.help("", CLI::AppFormatMode::All));
    } catch (const CLI::CallForVersion& e) {
        return EarlyText(std::string(e.what()) + "\n");
    } catch (const CLI::ParseError& e) {
        return Error{ErrorCode::invalid_argument, std::string(e.what()) + "; see " + app.get_name() + " --help"};
    }
    std::vector<std::string> extras = app.remaining();
    std::erase(extras, "--");  // CLI11 includes the mark itself
    if (const auto number = names_follow ? std::nullopt : number_as_name(app)) extras.insert(extras.begin(), *number);
    if (!extras.empty()) return unknown_argument(app, extras, of_others);
    if (auto empty = empty_value(app)) return *empty;
    return EarlyText();
}

Error with_short_name(const CLI::App& app, Error error) {
    const std::string flag = error.message.substr(0, error.message.find_first_of(": "));
    const CLI::Option* const option =
        flag.starts_with("--") ? option_named(app, std::string_view(flag).substr(2)) : nullptr;
    if (option != nullptr && !option->get_snames().empty()) {
        error.message.insert(0, "-" + option->get_snames().front() + "/");
    }
    return error;
}

}  // namespace udtx::apps
