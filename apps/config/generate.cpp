#include "config/generate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "config/man_page.hpp"

namespace udtx::apps {
namespace {

struct Flag {
    std::vector<std::string> names;  ///< with their dashes
    std::string description;
    bool takes_value = false;
    bool takes_file = false;
    std::vector<std::string> values;  ///< all that there are; empty: any
};

/// "on|off" are values, "KEY|FILE" stands for some.
std::vector<std::string> values_in(const std::string& type) {
    const auto other = [](char c) {
        return std::islower(static_cast<unsigned char>(c)) == 0 && !std::isdigit(static_cast<unsigned char>(c)) &&
               c != '-' && c != '|';
    };
    std::vector<std::string> values;
    if (type.find('|') == std::string::npos || std::any_of(type.begin(), type.end(), other)) return values;
    std::istringstream in(type);
    for (std::string value; std::getline(in, value, '|');) values.push_back(std::move(value));
    return values;
}

std::string in_one_line(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
    return out;
}

std::vector<Flag> flags_of(const CLI::App& app) {
    std::vector<Flag> out;
    for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
        Flag flag;
        for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
        for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
        flag.description = option->get_description();
        flag.takes_value = option->get_items_expected_max() != 0;
        const std::string type = option->get_type_name();
        flag.takes_file = type.find("FILE") != std::string::npos || type.find("DIR") != std::string::npos;
        flag.values = values_in(type);
        out.push_back(std::move(flag));
    }
    return out;
}

/// `text` with a backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

/// In single quotes for a shell.
std::string shell_word(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string function_name(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return "_" + name;
}

std::string bash(const CLI::App& app) {
    std::ostringstream out;
    std::string all;
    std::string valued;
    std::string cases;
    for (const Flag& flag : flags_of(app)) {
        for (const std::string& name : flag.names) {
            all += (all.empty() ? "" : " ") + name;
            if (flag.takes_value && !flag.takes_file && flag.values.empty())
                valued += (valued.empty() ? "" : "|") + name;
            if (!flag.values.empty())
                cases += "        " + name + ") words=" + shell_word(in_one_line(flag.values)) + " ;;\n";
        }
    }
    out << function_name(app.get_name()) << "() {\n"
        << "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
        // "--flag=value" comes in three words.
        << "    [[ $word != = ]] || word=\n"
        << "    [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
        << "    case $before in\n"
        << cases << "        " << valued << ") return ;;\n    esac\n"
        << "    if [[ -n $words ]]; then\n"
        << "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        << "    elif [[ $word == -* ]]; then\n"
        << "        mapfile -t COMPREPLY < <(compgen -W " << shell_word(all) << " -- \"$word\")\n"
        << "    else\n        compopt -o filenames\n"
        << "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi\n}\n"
        << "complete -F " << function_name(app.get_name()) << ' ' << app.get_name() << '\n';
    return out.str();
}

std::string zsh(const CLI::App& app) {
    std::ostringstream out;
    out << "#compdef " << app.get_name() << "\n_arguments -s \\\n";
    for (const Flag& flag : flags_of(app)) {
        for (const std::string& name : flag.names) {
            std::string spec = name;
            if (flag.takes_value) spec += name.starts_with("--") ? "=" : "+";
            spec += "[" + escaped(flag.description, "[]\\:") + "]";
            if (!flag.values.empty()) {
                spec += ":value:(" + in_one_line(flag.values) + ")";
            } else if (flag.takes_value) {
                spec += flag.takes_file ? ":file:_files" : ":value:";
            }
            out << "    " << shell_word(spec) << " \\\n";
        }
    }
    out << "    '*:file:_files'\n";
    return out.str();
}

std::string fish(const CLI::App& app) {
    std::ostringstream out;
    for (const Flag& flag : flags_of(app)) {
        out << "complete -c " << app.get_name();
        for (const std::string& name : flag.names) {
            out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
        }
        if (flag.takes_value) out << (flag.takes_file ? " -r" : " -x");
        if (!flag.values.empty()) out << " -a '" << in_one_line(flag.values) << "'";
        // Within single quotes fish knows two escapes.
        out << " -d '" << escaped(flag.description, "\\'") << "'\n";
    }
    return out.str();
}

constexpr std::array<std::pair<std::string_view, std::string (*)(const CLI::App&)>, 4> kTexts{
    {{"man", man_page}, {"complete-bash", bash}, {"complete-zsh", zsh}, {"complete-fish", fish}}};

}  // namespace

std::string joined_texts(std::string_view between) {
    std::string out;
    for (const auto& [name, make] : kTexts) out.append(out.empty() ? "" : between).append(name);
    return out;
}

Result<std::string> generate_text(const CLI::App& app, const std::string& what) {
    for (const auto& [name, make] : kTexts) {
        if (name == what) return make(app);
    }
    return Error{ErrorCode::invalid_argument, "--generate: '" + what + "' is unknown; there is: " + joined_texts(", ")};
}

}  // namespace udtx::apps
