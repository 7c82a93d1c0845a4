#include "config/man_page.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

#include "common/process.hpp"

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

}  // namespace

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

}  // namespace udtx::apps
