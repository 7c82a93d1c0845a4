#include "config/man_page.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

namespace udtx::apps {
namespace {

/// Nothing in `text` is taken for a request or an escape, and a minus stays one that can be copied to a shell.
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

std::string arguments(const CLI::App& app) {
    for (const CLI::Option* one : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
        return one->get_description();
    }
    return {};
}

}  // namespace

std::string man_page(const CLI::App& app) {
    std::ostringstream out;
    const std::string& name = app.get_name();
    std::string summary = app.get_description();
    while (!summary.empty() && summary.back() == '.') summary.pop_back();
    out << ".TH " << upper(name) << " 1 \"\" \"udtx\"\n.SH NAME\n" << roff(name) << " \\- " << roff(summary) << '\n';
    out << ".SH SYNOPSIS\n\\fB" << roff(name) << "\\fR [\\fIoptions\\fR] " << roff(arguments(app)) << '\n';
    out << ".SH OPTIONS\n";
    for (const std::string& name_of_group : app.get_groups()) group(out, app, name_of_group);
    out << ".SH NOTES\n.nf\n" << roff(app.get_footer()) << "\n.fi\n";
    out << ".SH ENVIRONMENT\nThe variable \\fBUDTX_\\fINAME\\fR stands for the flag \\fB\\-\\-\\fIname\\fR, in "
           "capitals and "
           "with _ for \\-:\n\\fBUDTX_PSK_FILE\\fR, \\fBUDTX_RATE\\fR. Flags come before it, files after it.\n";
    out << ".SH FILES\n\\fI~/.config/udtx/config\\fR, \\fI/etc/udtx/config\\fR: lines of a flag's long name and its "
           "value, "
           "at the top for\nevery run, after a line \\fBHost\\fR \\fIPATTERN\\fR for the hosts that it names. "
           "\\fBHostName\\fR and \\fBPort\\fR say where such a host is.\n";
    return out.str();
}

}  // namespace udtx::apps
