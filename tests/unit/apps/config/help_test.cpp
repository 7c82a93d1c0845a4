// --help, --help-all and the manuals of both tools.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>

#include "common/command_line.hpp"
#include "config/generate.hpp"
#include "options/commands.hpp"
#include "options/subcommands.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

std::string text_of(const Result<EarlyText>& parsed) {
    REQUIRE(parsed);
    REQUIRE(parsed.value());
    return **parsed;
}

std::string help(const std::string& tool, const std::string& flag) {
    SendCommand send;
    RecvCommand recv;
    return text_of(tool == "udtx-send" ? parse_send_command({flag}, send) : parse_recv_command({flag}, recv));
}

/// Whether the text has a line that lists the flag. Such a line starts with "--name" or "-n,--name".
bool lists(const std::string& text, const std::string& flag) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first;
        words >> first;
        if (line.starts_with("  -") && first.substr(first.rfind(',') + 1) == "--" + flag) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("--help shows twenty flags by their tasks, and --help-all every flag") {
    for (const std::string tool : {"udtx-send", "udtx-recv"}) {
        const std::string brief = help(tool, "--help");
        const std::string whole = help(tool, "--help-all");
        const Manual manual = manual_of(tool);
        std::size_t flags = 0;
        for (const auto& task : manual.tasks) {
            CHECK(brief.find(std::string(task.name) + ":\n") != std::string::npos);
            for (const auto flag : task.flags) {
                INFO(tool << ": " << flag);
                ++flags;
                CHECK(lists(brief, std::string(flag)));
                CHECK(lists(whole, std::string(flag)));
            }
        }
        CHECK(flags == 20);
        CHECK(lists(whole, "mtu"));
        CHECK_FALSE(lists(brief, "mtu"));
        CHECK(brief.find("--help-all") != std::string::npos);
        CHECK(std::ranges::count(brief, '\n') < 60);
    }
}

TEST_CASE("each error has an exit code with a name and a meaning") {
    for (int value = 1; value <= static_cast<int>(ErrorCode::going_away); ++value) {
        const ExitCode code = exit_code_for(static_cast<ErrorCode>(value));
        INFO(value);
        CHECK(to_string(code) != "unknown");
        CHECK(meaning_of(code) != "unknown");
    }
    CHECK(exit_code_for(ErrorCode::partial) == ExitCode::partial);
    CHECK(exit_code_for(ErrorCode::integrity) == ExitCode::integrity);
    CHECK(exit_code_for(ErrorCode::refused) == ExitCode::file_io);
    CHECK(exit_code_for(ErrorCode::network) == ExitCode::network);
}

TEST_CASE("each command has a manual with an example and its exit codes") {
    const auto check = [](const CLI::App& app) {
        INFO(app.get_name());
        const Manual manual = manual_of(app.get_name());
        CHECK_FALSE(manual.synopses.empty());
        CHECK_FALSE(manual.description.empty());
        CHECK_FALSE(manual.examples.empty());
        for (const ExitCode code : manual.exit_codes) CHECK(meaning_of(code) != "unknown");
        // Each example runs this tool. In some the other tool runs first, at the other end of a pipe or for a repair.
        CHECK(std::ranges::any_of(manual.examples, [&](const auto& one) {
            return one.command.find(app.get_name()) != std::string_view::npos;
        }));
    };
    for (const auto& all : {subcommands_of_send(), subcommands_of_recv()}) {
        for (const auto& one : all) {
            check(*one);
            CHECK(one->help().find("Exit codes: 0 success") != std::string::npos);
        }
    }
}

TEST_CASE("a command that only examines this machine lists no exit codes of connections") {
    const auto lists_code = [](std::string_view command, ExitCode code) {
        return std::ranges::count(manual_of(command).exit_codes, code) == 1;
    };
    for (const ExitCode code :
         {ExitCode::network, ExitCode::protocol, ExitCode::timeout, ExitCode::authentication, ExitCode::udp_blocked}) {
        CHECK(lists_code("udtx-send doctor", code));
        CHECK_FALSE(lists_code("udtx-recv doctor", code));
    }
}

TEST_CASE("manual pages have the sections that readers look for") {
    const auto all = subcommands_of_recv();
    for (const auto& one : all) {
        const std::string name = one->get_name();
        const auto page = generate_text(*one, all, manual_of, "man-" + name.substr(name.rfind(' ') + 1));
        REQUIRE(page);
        for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS",
                                    "ENVIRONMENT", "FILES", "SEE ALSO"}) {
            INFO(name << ": " << section);
            CHECK(page->find(std::string(".SH ") + section + "\n") != std::string::npos);
        }
    }
    CHECK_FALSE(generate_text(*all.front(), all, manual_of, "man-nothing"));
}
