#include "control/control_commands.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "common/units.hpp"
#include "report/output.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kRate = "rate ";
constexpr const char* kControlFooter =
    "udtx-send ctl                        list the running transfers of this user, one JSON object each\n"
    "udtx-send ctl PID|SOCKET rate RATE   change the cap of a running transfer (100M)\n"
    "udtx-send ctl PID|SOCKET rate off    no cap\n"
    "udtx-send ctl PID|SOCKET rate auto   the cap of its command line again\n"
    "udtx-send ctl PID|SOCKET status      how it goes, as one JSON object\n"
    "PID is that of udtx-send or udtx-recv; with udtx-recv --listen the cap is that of all senders together,\n"
    "and one that fetches answers status only.\n";

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
    if (!wish) return std::string("the rate of the command line holds again");
    return wish->is_infinite() ? std::string("no cap") : describe_rate_cap(*wish);
}

}  // namespace

ControlSocket::Handler control_handler(RateGovernor& rates, std::function<std::string()> status) {
    return [&rates, status = std::move(status)](const std::string& line) -> Result<std::string> {
        if (line == "status") return status();
        if (line.starts_with(kRate)) return set_rate(rates, line.substr(kRate.size()));
        return Error{ErrorCode::invalid_argument, "'" + line + "' is unknown; there is: rate RATE|off|auto, status"};
    };
}

namespace {

/// One object a line: the process number before what `status` says.
ExitCode list_transfers(Log& log) {
    const auto running = running_transfers();
    if (!running) return finish_early(log, exit_code_for(running.error().code), running.error().message, false);
    std::string text;
    for (const std::string& pid : *running) {
        const auto status = ask_control_socket(pid, "status");
        if (status && status->starts_with("{")) text += "{\"pid\":" + pid + "," + status->substr(1) + "\n";
    }
    if (text.empty()) log.info("no transfer of this user is running here");
    return print_output(log, text, ExitCode::ok);
}

}  // namespace

void define_ctl(CLI::App& app, CtlCommand& command) {
    app.name("udtx-send ctl");
    app.description("Lists this user's running transfers here, and changes the cap of one.");
    use_house_style(app);
    app.add_option("ARGUMENTS", command.words, "Nothing, or PID|SOCKET COMMAND")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kControlFooter);
}

ExitCode run_ctl(Log& log, std::vector<std::string> arguments) {
    CtlCommand command;
    CLI::App app;
    define_ctl(app, command);
    const auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    const std::vector<std::string>& words = command.words;
    if (words.empty()) return list_transfers(log);
    if (words.size() < 2) {
        return finish_early(log, ExitCode::usage, "ctl takes a transfer and a command; see udtx-send ctl --help",
                            false);
    }
    std::string line;
    for (std::size_t i = 1; i < words.size(); ++i) line += (i == 1 ? "" : " ") + words[i];
    const auto answer = ask_control_socket(words[0], line);
    if (!answer) return finish_early(log, exit_code_for(answer.error().code), answer.error().message, false);
    return print_output(log, *answer + "\n", ExitCode::ok);
}

}  // namespace udtx::apps
