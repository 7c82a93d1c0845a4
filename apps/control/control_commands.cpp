#include "control/control_commands.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "common/units.hpp"
#include "observe/output.hpp"
#include "options/subcommands.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kRate = "rate ";
Result<std::string> set_rate(RateGovernor& rates, const std::string& text) {
    std::optional<Rate> wish;
    if (text == "off") {
        wish = Rate::infinite();
    } else if (text != "auto") {
        const auto rate = parse_rate(text);
        if (!rate) return rate.error();
        wish = *rate;
    }
    if (const auto taken = rates.set(wish); !taken) return taken.error();
    if (!wish) return std::string("the rate of the command line applies again");
    return wish->is_infinite() ? std::string("no cap") : describe_rate_cap(*wish);
}

}  // namespace

ControlSocket::Handler control_handler(RateGovernor* rates, ControlStatus status) {
    return [rates, status = std::move(status)](const std::string& line) -> Result<std::string> {
        if (line == "status") return status.json();
        if (line == "describe") return status.lines();
        if (rates == nullptr) {
            return Error{ErrorCode::invalid_argument,
                         "the rate of a transfer that fetches cannot be changed; use status"};
        }
        if (line.starts_with(kRate)) return set_rate(*rates, line.substr(kRate.size()));
        return Error{ErrorCode::invalid_argument, "'" + line + "' is unknown; use rate RATE|off|auto or status"};
    };
}

namespace {

/// One JSON object: the process number, then the fields of the answer to `status`. Empty: the process has ended since.
std::string object_of(const std::string& pid) {
    const auto status = ask_control_socket(pid, "status");
    return status && status->starts_with("{") ? "{\"pid\":" + pid + "," + status->substr(1) + "\n" : std::string();
}

std::string lines_of(const std::string& pid) {
    const auto answer = ask_control_socket(pid, "describe");
    if (!answer) return {};
    std::string text = pid + "  " + *answer + "\n";
    for (std::size_t at = text.find('\t'); at != std::string::npos; at = text.find('\t', at))
        text.replace(at, 1, "\n    ");
    return text;
}

ExitCode list_transfers(Log& log, bool json) {
    const auto running = running_transfers();
    if (!running) return finish_early(log, exit_code_for(running.error().code), running.error().message, false);
    std::string text;
    for (const std::string& pid : *running) text += json ? object_of(pid) : lines_of(pid);
    if (text.empty()) log.info("no transfer of this user is running here");
    return print_output(log, text, ExitCode::ok);
}

}  // namespace

ExitCode run_ctl(Log& log, const std::string& tool, std::vector<std::string> arguments) {
    CtlCommand command;
    CLI::App app;
    define_ctl(app, command, tool);
    const auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    const std::vector<std::string>& words = command.words;
    if (words.empty()) return list_transfers(log, command.json || ::isatty(STDOUT_FILENO) == 0);
    if (words.size() < 2) {
        return finish_early(log, ExitCode::usage, "ctl takes a transfer and a command; see " + tool + " ctl --help",
                            false);
    }
    std::string line;
    for (std::size_t i = 1; i < words.size(); ++i) line += (i == 1 ? "" : " ") + words[i];
    const auto answer = ask_control_socket(words[0], line);
    if (!answer) return finish_early(log, exit_code_for(answer.error().code), answer.error().message, false);
    return print_output(log, *answer + "\n", ExitCode::ok);
}

}  // namespace udtx::apps
