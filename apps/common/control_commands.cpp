#include "common/control_commands.hpp"

#include <utility>

#include "common/process.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kRate = "rate ";
constexpr const char* kUsage =
    "udtx-send ctl                        list the running transfers of this user, one JSON object each\n"
    "udtx-send ctl PID|SOCKET rate RATE   change the cap of a running transfer (100M)\n"
    "udtx-send ctl PID|SOCKET rate off    no cap\n"
    "udtx-send ctl PID|SOCKET rate auto   the cap of its command line again\n"
    "udtx-send ctl PID|SOCKET status      how it goes, as one JSON object\n"
    "PID is that of udtx-send or udtx-recv; with udtx-recv the cap is that of all senders together.\n";

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

ExitCode run_ctl(Log& log, const std::vector<std::string>& arguments) {
    if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
        return print_output(log, kUsage, ExitCode::ok);
    }
    if (arguments.empty()) return list_transfers(log);
    if (arguments.size() < 2) {
        return finish_early(log, ExitCode::usage, "ctl takes a transfer and a command; see udtx-send ctl --help",
                            false);
    }
    std::string line;
    for (std::size_t i = 1; i < arguments.size(); ++i) line += (i == 1 ? "" : " ") + arguments[i];
    const auto answer = ask_control_socket(arguments[0], line);
    if (!answer) return finish_early(log, exit_code_for(answer.error().code), answer.error().message, false);
    return print_output(log, *answer + "\n", ExitCode::ok);
}

}  // namespace udtx::apps
