// Defines the flags of a command. The definition of a flag says all about it: its names, the member that it sets, its
// type, its help, and how its text becomes a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// "a, b, c" for between = ", ", and "a, b or c" for last = " or ".
[[nodiscard]] inline std::string joined(const std::vector<std::string>& words, const char* between,
                                        const char* last = nullptr) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) out += last != nullptr && i + 1 == words.size() ? last : between;
        out += words[i];
    }
    return out;
}

/// Order of calls: the definitions, the parse of the app, check(). Members that a flag sets must outlive this object.
class Flags {
  public:
    explicit Flags(CLI::App& app) : app_(app) {}
    Flags(const Flags&) = delete;
    Flags& operator=(const Flags&) = delete;

    /// The heading in --help-all of the flags that are defined from now on.
    void group(const char* name) { group_ = name; }
    /// A switch.
    void on(const char* names, bool& to, const std::string& help) { app_.add_flag(names, to, help)->group(group_); }
    /// A text, a number, or a list, which each use of the flag extends by one value.
    template <class Value>
    CLI::Option* text(const char* names, Value& to, const std::string& type, const std::string& help) {
        return app_.add_option(names, to, help)->type_name(type)->allow_extra_args(false)->group(group_);
    }
    /// A number of bytes such as 50G.
    template <class Value>
    void size(const char* names, Value& to, const std::string& help) {
        text(names, to, "SIZE", help)->transform(CLI::Validator(CLI::AsSizeValue(true)).description(""));
    }
    /// `parse` makes the value from the text, if there is one. Its errors get the flag's name.
    template <class Value, class Parse>
    void value(const char* names, std::string& typed, Value& to, Parse parse, const std::string& type,
               const std::string& help) {
        const std::string flag = "--" + text(names, typed, type, help)->get_lnames().front();
        checks_.push_back([&typed, &to, parse, flag]() -> Result<void> {
            if (typed.empty()) return {};
            auto parsed = parse(typed);
            if (!parsed) return usage(flag + ": " + parsed.error().message);
            to = std::move(*parsed);
            return {};
        });
    }
    template <class Value, class Parse>
    void value(const char* names, Value& to, Parse parse, const std::string& type, const std::string& help) {
        value(names, texts_.emplace_back(), to, parse, type, help);
    }
    /// One of a few words. Without one, `to` keeps its value. `remark` ends the error message.
    template <class Value>
    using Choices = std::vector<std::pair<const char*, std::type_identity_t<Value>>>;
    template <class Value>
    void choice(const char* names, Value& to, const Choices<Value>& choices, const std::string& help,
                const char* remark = "") {
        std::string& typed = texts_.emplace_back();
        std::vector<std::string> words;
        for (const auto& [word, one] : choices) {
            words.emplace_back(word);
            if (to == one) typed = word;
        }
        const auto find = [choices, words, remark](const std::string& text) -> Result<Value> {
            for (const auto& [word, one] : choices) {
                if (text == word) return one;
            }
            return usage("'" + text + "' is unknown; use " + joined(words, ", ", " or ") + remark);
        };
        value(names, typed, to, find, joined(words, "|"), help);
    }
    /// A name of a list that the library has.
    void name(const char* names, std::string& to, const std::vector<std::string>& known, const std::string& help) {
        const auto find = [known](const std::string& text) -> Result<std::string> {
            if (std::ranges::find(known, text) != known.end()) return text;
            return usage("'" + text + "' is unknown; use one of " + joined(known, ", "));
        };
        value(names, to, to, find, joined(known, "|"), help);
    }
    /// The words that belong to no flag.
    void arguments(const char* name, std::vector<std::string>& to, const std::string& help) {
        app_.add_option(name, to, help)->type_name("")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }

    /// Makes the values. Returns the first error.
    [[nodiscard]] Result<void> check() const {
        for (const auto& check : checks_) {
            if (auto checked = check(); !checked) return checked;
        }
        return {};
    }
    /// True if the flag is on the command line; flags from files and the environment do not count.
    [[nodiscard]] bool typed(const std::string& flag, const Origins& origins) const {
        return app_.count(flag) > 0 && !origins.has(flag);
    }
    /// The error "FLAG why" for the first flag that is on the command line.
    [[nodiscard]] Result<void> refuse(std::initializer_list<const char*> flags, const Origins& origins,
                                      const std::string& why) const {
        for (const char* const flag : flags) {
            if (typed(flag, origins)) return usage(flag + (' ' + why));
        }
        return {};
    }
    [[nodiscard]] CLI::App& app() const noexcept { return app_; }

  private:
    CLI::App& app_;
    std::string group_ = "Options";
    std::deque<std::string> texts_;  // of flags that only have values
    std::vector<std::function<Result<void>()>> checks_;
};

}  // namespace udtx::apps
