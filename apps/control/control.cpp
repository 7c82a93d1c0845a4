#include "control/control.hpp"

#include <pwd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "options/subcommands.hpp"

namespace udtx::apps {
namespace {

/// Limits that keep an answer short.
constexpr std::size_t kMostSources = 16;
constexpr std::size_t kMostServed = 100;

std::uint16_t port_of(const TransferCard& card, const Observation& seen) {
    if (card.port != 0 || !seen.stats || seen.stats->paths.empty()) return card.port;
    return seen.stats->paths.front().remote.port;
}

Json json_of(const ServedTransfer& one) {
    return Json::object({{"who", one.who},
                         {"role", one.seen.sends ? "sender" : "receiver"},
                         {"directory", one.directory},
                         {"file", one.seen.progress.current_name},
                         {"progress", Json::ready(progress_json(one.seen))}});
}

/// "45 % of 1.20 GB, 95.0 Mbit/s, photos/a.jpg"
std::string course_of(const Observation& seen) {
    const transfer::Progress& progress = seen.progress;
    std::string text = format_bytes(progress.bytes_done);
    if (progress.bytes_total > 0) text += " of " + format_bytes(std::max(progress.bytes_total, progress.bytes_done));
    text += ", " + format_rate(seen.rate);
    if (seen.silent) text += ", no answer for " + format_elapsed(*seen.silent);
    if (!progress.current_name.empty()) text += ", " + escape_for_terminal(progress.current_name);
    return text;
}

std::string joined(const std::vector<std::string>& sources) {
    std::string text;
    for (std::size_t i = 0; i < sources.size() && i < kMostSources; ++i) {
        text += (i == 0 ? "" : " ") + escape_for_terminal(sources[i]);
    }
    if (sources.size() > kMostSources) text += " and " + format_count(sources.size() - kMostSources) + " more";
    return text;
}

std::string place(const std::string& directory) {
    return directory.empty() ? "standard output" : escape_for_terminal(directory);
}

}  // namespace

std::string user_name() {
    const passwd* entry = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): before there are threads
    return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
}

std::string seen_from_elsewhere(const std::string& path) {
    if (path == "-") return path;
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.string();
}

std::string status_json(const Described& process) {
    const auto& [card, seen, served] = process;
    const std::uint16_t port = port_of(card, seen);
    const std::span sources(card.sources.data(), std::min(card.sources.size(), kMostSources));
    Json json = Json::ready(progress_json(seen));
    json.add({{"program", card.program},
              {"role", card.role},
              {"user", card.user},
              {"port", port == 0 ? Json(nullptr) : Json(port)},
              {"sources", Json::array(sources, [](const std::string& source) { return Json(source); })},
              {"source_count", card.sources.size()},
              {"destination", card.destination},
              {"file", seen.progress.current_name}});
    if (card.role != "server") return json.text();
    const std::span shown(served.data(), std::min(served.size(), kMostServed));
    json.add({{"transfers", Json::array(shown, [](const ServedTransfer& one) { return json_of(one); })},
              {"transfer_count", served.size()}});
    return json.text();
}

std::string status_lines(const Described& process) {
    const auto& [card, seen, served] = process;
    const std::uint16_t port = port_of(card, seen);
    std::string text = card.user + "  " + card.program + ", " + card.role;
    if (port != 0) text += " on port " + std::to_string(port);
    if (!card.sources.empty()) text += ": " + joined(card.sources) + " to " + place(card.destination);
    if (card.sources.empty()) text += ": " + place(card.destination);
    if (card.role != "server") return text + ", " + course_of(seen);
    text += ", " + counted(served.size(), "transfer");
    for (std::size_t i = 0; i < served.size() && i < kMostServed; ++i) {
        const ServedTransfer& one = served[i];
        text += one.seen.sends ? "\n    from " + place(one.directory) + " to " + escape_for_terminal(one.who)
                               : "\n    from " + escape_for_terminal(one.who) + " to " + place(one.directory);
        text += ", " + course_of(one.seen);
    }
    std::vector<Observation> all;
    for (const ServedTransfer& one : served) all.push_back(one.seen);
    for (const transfer::JobProgress& job : jobs_of(all)) text += "\n    " + job_line(job);
    if (served.size() > kMostServed) text += "\n    and " + format_count(served.size() - kMostServed) + " more";
    return text;
}

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Local = asio::local::stream_protocol;

constexpr std::size_t kMaxAnswer = 1U << 20U;
constexpr std::chrono::seconds kPatience{3};

bool fits(const std::string& path) { return !path.empty() && path.size() < sizeof(sockaddr_un::sun_path); }

bool is_number(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// True if the socket's process is gone and no process listens at `path`. The second test is needed because process
/// numbers are per PID namespace.
bool is_left_behind(const std::string& path, const std::string& pid) {
    const bool gone = ::kill(static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), 0) != 0 && errno == ESRCH;
    if (!gone || !fits(path)) return false;
    asio::io_context context;
    Local::socket socket(context);
    boost::system::error_code error;
    socket.connect(Local::endpoint(path), error);
    return error == asio::error::connection_refused;
}

/// Removes sockets that kill -9 or a crash left behind. Returns the process numbers of the other sockets.
std::vector<std::string> tidy(const std::string& directory) {
    std::vector<std::string> running;
    std::error_code ignored;
    // A range-based loop would throw if reading the directory fails midway.
    for (std::filesystem::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored)) {
        const std::filesystem::path& path = at->path();
        const std::string pid = path.stem().string();
        if (path.extension() != ".sock" || !is_number(pid)) continue;
        if (is_left_behind(path.string(), pid)) {
            ::unlink(path.c_str());
        } else {
            running.push_back(pid);
        }
    }
    std::sort(running.begin(), running.end());
    return running;
}

}  // namespace

Result<std::vector<std::string>> running_transfers() {
    const auto directory = runtime_directory();
    if (!directory) return directory.error();
    return tidy(*directory);
}

Result<std::string> ask_control(const std::string& target, const std::string& line) {
    std::string path = target;
    if (is_number(target)) {
        const auto directory = runtime_directory();
        if (!directory) return directory.error();
        path = *directory + "/" + target + ".sock";
        if (is_left_behind(path, target)) {
            ::unlink(path.c_str());
            return Error{ErrorCode::file_io,
                         "the transfer of process " + target + " was killed; its socket is removed"};
        }
    }
    if (!fits(path)) return Error{ErrorCode::invalid_argument, "'" + path + "' cannot be the path of a socket"};
    asio::io_context context;
    Local::socket socket(context);
    boost::system::error_code error;
    socket.connect(Local::endpoint(path), error);
    if (error) return Error{ErrorCode::file_io, "no running transfer answers at " + path + ": " + error.message()};
    http::request<http::string_body> request(http::verb::post, "/", 11, line);
    request.prepare_payload();
    http::write(socket, request, error);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> answer;
    answer.body_limit(kMaxAnswer);
    if (!error) {
        error = asio::error::timed_out;
        http::async_read(socket, buffer, answer, [&](boost::system::error_code read, std::size_t) { error = read; });
        context.run_for(kPatience);
    }
    if (error == asio::error::timed_out) return Error{ErrorCode::timeout, path + " does not answer"};
    if (error) return Error{ErrorCode::protocol, path + " gave an answer that is not understood"};
    std::string& text = answer.get().body();
    if (answer.get().result() == http::status::ok) return std::move(text);
    return Error{ErrorCode::invalid_argument, std::move(text)};
}

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

Result<std::string> answer_to(const std::string& line, RateGovernor* rates,
                              const std::function<Described()>& describe) {
    if (line == "status") return status_json(describe());
    if (line == "describe") return status_lines(describe());
    if (rates == nullptr) {
        return Error{ErrorCode::invalid_argument, "the rate of a transfer that fetches cannot be changed; use status"};
    }
    if (line.starts_with(kRate)) return set_rate(*rates, line.substr(kRate.size()));
    return Error{ErrorCode::invalid_argument, "'" + line + "' is unknown; use rate RATE|off|auto or status"};
}

/// One JSON object: the process number, then the fields of the answer to `status`. Empty: the process has ended since.
std::string object_of(const std::string& pid) {
    const auto status = ask_control(pid, "status");
    return status && status->starts_with("{") ? "{\"pid\":" + pid + "," + status->substr(1) + "\n" : std::string();
}

std::string lines_of(const std::string& pid) {
    const auto answer = ask_control(pid, "describe");
    return answer ? pid + "  " + *answer + "\n" : std::string();
}

}  // namespace

std::unique_ptr<HttpServer> open_control(RateGovernor* rates, Log* log, std::function<Described()> describe) {
    const auto open = [&]() -> Result<std::unique_ptr<HttpServer>> {
        const auto directory = runtime_directory();
        if (!directory) return directory.error();
        const std::string path = *directory + "/" + std::to_string(::getpid()) + ".sock";
        if (!fits(path)) return Error{ErrorCode::file_io, path + " is too long for a socket"};
        tidy(*directory);
        ::unlink(path.c_str());  // left by an earlier process with this process's number
        return HttpServer::start_local(path, [rates, describe = std::move(describe)](const HttpRequest& request) {
            auto answer = answer_to(request.body, rates, describe);
            return HttpReply{.status = answer ? 200U : 400U,
                             .body = answer ? std::move(*answer) : answer.error().message};
        });
    };
    auto opened = open();
    if (opened) return std::move(*opened);
    if (log != nullptr) log->detail("no control socket: " + opened.error().message);
    return nullptr;
}

ExitCode run_ctl(Log& log, const std::string& tool, std::vector<std::string> arguments) {
    CtlCommand command(tool);
    if (const auto code = stop_early(log, command.parse(std::move(arguments)), false)) return *code;
    const std::vector<std::string>& words = command.words;
    if (words.size() == 1) {
        return finish_early(log, ExitCode::usage, "ctl takes a transfer and a command; see " + tool + " ctl --help",
                            false);
    }
    if (words.empty()) {
        const auto running = running_transfers();
        if (!running) return finish_early(log, running.error(), false);
        std::string text;
        const bool json = command.json || ::isatty(STDOUT_FILENO) == 0;
        for (const std::string& pid : *running) text += json ? object_of(pid) : lines_of(pid);
        if (text.empty()) log.info("no transfer of this user is running here");
        return print_output(log, text, ExitCode::ok);
    }
    std::string line = words[1];
    for (std::size_t i = 2; i < words.size(); ++i) line += " " + words[i];
    const auto answer = ask_control(words[0], line);
    if (!answer) return finish_early(log, answer.error(), false);
    return print_output(log, *answer + "\n", ExitCode::ok);
}

}  // namespace udtx::apps
