#include "config/generate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/process.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

/// Escapes `text` so that roff sees no requests and no escapes in it. A minus stays a plain one, so that users can copy
/// it to a shell.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if ((out.empty() || out.back() == '\n') && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

void option(std::ostream& out, const CLI::Option& one) {
    out << ".TP\n\\fB" << roff(one.get_name(false, true)) << "\\fR";
    if (one.get_items_expected_max() != 0 && !one.get_type_name().empty()) {
        out << " \\fI" << roff(one.get_type_name()) << "\\fR";
    }
    out << '\n' << roff(one.get_description()) << '\n';
}

void group(std::ostream& out, const CLI::App& app, const std::string& name) {
    const auto options =
        app.get_options([&](const CLI::Option* one) { return one->get_group() == name && one->nonpositional(); });
    if (name.empty() || options.empty()) return;
    out << ".SS " << roff(name) << '\n';
    for (const CLI::Option* one : options) option(out, *one);
}

/// Writes a paragraph for each entry, with the entry's name before it.
void entries(std::ostream& out, const char* title, const std::vector<Manual::Entry>& all) {
    if (all.empty()) return;
    out << ".SH " << title << '\n';
    for (const auto& one : all) out << ".TP\n.B " << roff(one.name) << '\n' << roff(one.text) << '\n';
}

void output(std::ostream& out, const Manual& manual) {
    if (manual.output.empty()) return;
    out << ".SH OUTPUT\n";
    for (const auto& kind : manual.output) {
        out << ".SS " << roff(kind.name) << '\n' << roff(kind.text) << '\n';
        for (const auto& field : kind.fields) {
            out << ".TP\n.B " << roff(field.name) << '\n' << roff(field.text) << '\n';
        }
    }
}

void examples(std::ostream& out, const Manual& manual) {
    if (manual.examples.empty()) return;
    out << ".SH EXAMPLES\n";
    for (const auto& one : manual.examples) {
        out << ".PP\n" << roff(one.text) << "\n.PP\n.RS 4\n.nf\n" << roff(one.command) << "\n.fi\n.RE\n";
    }
}

void exit_status(std::ostream& out, const Manual& manual) {
    out << ".SH EXIT STATUS\n";
    for (const ExitCode code : manual.exit_codes) {
        out << ".TP\n.B " << static_cast<int>(code) << '\n' << roff(meaning_of(code)) << '\n';
    }
}

void see_also(std::ostream& out, const Manual& manual) {
    if (manual.see_also.empty()) return;
    out << ".SH SEE ALSO\n";
    const char* between = "";
    for (const auto page : manual.see_also) {
        out << between << "\\fB" << roff(page) << "\\fR(1)";
        between = ",\n";
    }
    out << '\n';
}

std::string man_page(const CLI::App& app, const Manual& manual) {
    std::ostringstream out;
    std::string name = app.get_name();
    std::string page = name;
    std::replace(page.begin(), page.end(), ' ', '-');
    std::string summary = app.get_description();
    while (!summary.empty() && summary.back() == '.') summary.pop_back();
    out << ".TH " << upper(page) << " 1 \"\" \"udtx " << roff(program_version()) << "\" \"User Commands\"\n.SH NAME\n"
        << roff(page) << " \\- " << roff(summary) << "\n.SH SYNOPSIS\n";
    for (const auto synopsis : manual.synopses) {
        out << "\\fB" << roff(name) << "\\fR [\\fIflags\\fR] " << roff(synopsis) << "\n.br\n";
    }
    out << ".SH DESCRIPTION\n";
    for (const auto paragraph : manual.description) out << ".PP\n" << roff(paragraph) << '\n';
    entries(out, "COMMANDS", manual.commands);
    out << ".SH OPTIONS\n";
    for (const std::string& name_of_group : app.get_groups()) group(out, app, name_of_group);
    output(out, manual);
    examples(out, manual);
    exit_status(out, manual);
    entries(out, "ENVIRONMENT", manual.environment);
    entries(out, "FILES", manual.files);
    see_also(out, manual);
    return out.str();
}

struct Flag {
    std::vector<std::string> names;  ///< with their dashes
    std::string description;
    bool takes_value = false;
    bool takes_file = false;
    std::vector<std::string> values;  ///< all valid values; empty: any
};

/// The literal values in a type name: "on|off" lists values, "KEY|FILE" only names their kinds.
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

/// Puts a backslash before each character of `text` that is in `special`.
std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string function_name(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return "_" + name;
}

/// "doctor" from "udtx-send doctor".
std::string word_of(const CLI::App& subcommand) {
    const std::string& name = subcommand.get_name();
    return name.substr(name.rfind(' ') + 1);
}

std::vector<std::string> words_of(const Subcommands& subcommands) {
    std::vector<std::string> words;
    for (const auto& one : subcommands) words.push_back(word_of(*one));
    return words;
}

std::vector<std::string> names_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const Flag& flag : flags_of(app)) names.insert(names.end(), flag.names.begin(), flag.names.end());
    return names;
}

/// What completion offers after a flag. A flag means the same in the tool and in its subcommands.
struct BashValues {
    std::string cases;   ///< for flags with a fixed set of values
    std::string others;  ///< flags whose values are unknown
};
BashValues bash_values(const CLI::App& app, const Subcommands& subcommands) {
    std::vector<Flag> flags = flags_of(app);
    for (const auto& one : subcommands) {
        for (Flag& flag : flags_of(*one)) flags.push_back(std::move(flag));
    }
    BashValues out;
    std::set<std::string> seen;
    for (const Flag& flag : flags) {
        for (const std::string& name : flag.names) {
            if (!seen.insert(name).second) continue;
            if (!flag.values.empty()) {
                out.cases += "        " + name + ") words=" + quoted_for_shell(in_one_line(flag.values)) + " ;;\n";
            } else if (flag.takes_value && !flag.takes_file) {
                out.others += (out.others.empty() ? "" : "|") + name;
            }
        }
    }
    return out;
}

std::string bash(const CLI::App& app, const Subcommands& subcommands) {
    std::ostringstream out;
    const BashValues values = bash_values(app, subcommands);
    out << function_name(app.get_name()) << "() {\n"
        << "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= first=\n"
        << "    local flags=" << quoted_for_shell(in_one_line(names_of(app)))
        << "\n"
        // bash splits "--flag=value" into three words.
        << "    [[ $word != = ]] || word=\n"
        << "    [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
        << "    [[ $COMP_CWORD -ne 1 ]] || first=" << quoted_for_shell(in_one_line(words_of(subcommands))) << "\n"
        << "    case ${COMP_WORDS[1]} in\n";
    for (const auto& one : subcommands) {
        out << "        " << word_of(*one) << ") flags=" << quoted_for_shell(in_one_line(names_of(*one))) << " ;;\n";
    }
    out << "    esac\n"
        << "    case $before in\n"
        << values.cases << "        " << values.others << ") return ;;\n    esac\n"
        << "    if [[ -n $words ]]; then\n"
        << "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        << "    elif [[ $word == -* ]]; then\n"
        << "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
        << "    else\n        compopt -o filenames\n"
        << "        mapfile -t COMPREPLY < <(compgen -W \"$first\" -- \"$word\"; compgen -f -- \"$word\")\n    fi\n}\n"
        << "complete -F " << function_name(app.get_name()) << ' ' << app.get_name() << '\n';
    return out.str();
}

/// The words after "_arguments -s", one per line.
std::string zsh_arguments(const CLI::App& app, const std::string& indent) {
    std::string out;
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
            out += indent + quoted_for_shell(spec) + " \\\n";
        }
    }
    return out + indent + "'*:file:_files'\n";
}

std::string zsh(const CLI::App& app, const Subcommands& subcommands) {
    std::ostringstream out;
    out << "#compdef " << app.get_name() << "\nif (( CURRENT > 2 )); then\n    case ${words[2]} in\n";
    for (const auto& one : subcommands) {
        out << "        " << word_of(*one) << ")\n            shift words\n            (( CURRENT-- ))\n"
            << "            _arguments -s \\\n"
            << zsh_arguments(*one, "                ") << "            return ;;\n";
    }
    out << "    esac\nelif [[ ${words[2]} != -* ]]; then\n    compadd " << in_one_line(words_of(subcommands))
        << "\nfi\n_arguments -s \\\n"
        << zsh_arguments(app, "    ");
    return out.str();
}

/// `when` is a condition in fish's syntax.
std::string fish_flags(const std::string& tool, const std::string& when, const CLI::App& app) {
    std::ostringstream out;
    for (const Flag& flag : flags_of(app)) {
        out << "complete -c " << tool << " -n '" << when << '\'';
        for (const std::string& name : flag.names) {
            out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
        }
        if (flag.takes_value) out << (flag.takes_file ? " -r" : " -x");
        if (!flag.values.empty()) out << " -a '" << in_one_line(flag.values) << "'";
        // Inside single quotes fish knows only two escapes.
        out << " -d '" << escaped(flag.description, "\\'") << "'\n";
    }
    return out.str();
}

std::string fish(const CLI::App& app, const Subcommands& subcommands) {
    const std::string& tool = app.get_name();
    const std::string in = "__fish_seen_subcommand_from ";
    std::string out = fish_flags(tool, "not " + in + in_one_line(words_of(subcommands)), app);
    for (const auto& one : subcommands) {
        out += "complete -c " + tool + " -n __fish_use_subcommand -a " + word_of(*one) + " -d '" +
               escaped(one->get_description(), "\\'") + "'\n";
        out += fish_flags(tool, in + word_of(*one), *one);
    }
    return out;
}

constexpr std::array<std::pair<std::string_view, std::string (*)(const CLI::App&, const Subcommands&)>, 3> kCompletions{
    {{"complete-bash", bash}, {"complete-zsh", zsh}, {"complete-fish", fish}}};
constexpr std::string_view kMan = "man";

}  // namespace

std::string joined_texts(std::string_view between) {
    std::string out(kMan);
    for (const auto& [name, make] : kCompletions) out.append(between).append(name);
    return out;
}

Result<std::string> generate_text(const CLI::App& app, const Subcommands& subcommands, const Manuals& manuals,
                                  const std::string& what) {
    if (what == kMan) return man_page(app, manuals(app.get_name()));
    for (const auto& one : subcommands) {
        if (what == std::string(kMan) + "-" + word_of(*one)) return man_page(*one, manuals(one->get_name()));
    }
    for (const auto& [name, make] : kCompletions) {
        if (name == what) return make(app, subcommands);
    }
    return Error{ErrorCode::invalid_argument,
                 "--generate: '" + what + "' is unknown; use one of " + joined_texts(", ") + ", man-COMMAND"};
}

}  // namespace udtx::apps
