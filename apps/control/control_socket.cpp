#include "control/control_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/process.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "options/subcommands.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::apps {
namespace {

/// Pause before the next accept() if one fails, for example because no descriptors are left.
constexpr std::chrono::milliseconds kRetryAcceptAfter{100};
constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxAnswer = 1U << 20U;
constexpr std::chrono::seconds kPatience{3};
constexpr std::string_view kGood = "ok ";
constexpr std::string_view kBad = "error ";

Error io_error(const std::string& what, int error) {
    return {ErrorCode::file_io, what + ": " + std::generic_category().message(error)};
}

std::optional<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

/// Reads up to the end of a line or of the stream. Empty: it was too long, or kPatience ran out.
std::optional<std::string> read_line(int fd, std::size_t most) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::string line;
    std::array<char, 4096> block{};
    while (line.size() <= most) {
        const auto left = until - std::chrono::steady_clock::now();
        const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
        pollfd entry{fd, POLLIN, 0};
        if (wait <= 0 || ::poll(&entry, 1, static_cast<int>(wait)) <= 0) return std::nullopt;
        const ssize_t n = ::read(fd, block.data(), block.size());
        if (n < 0) return std::nullopt;
        line.append(block.data(), static_cast<std::size_t>(n));
        const std::size_t end = line.find('\n');
        if (end != std::string::npos) return line.substr(0, end);
        if (n == 0) return line;
    }
    return std::nullopt;
}

bool is_ours([[maybe_unused]] int fd) {
#ifdef SO_PEERCRED
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
#else
    return true;  // the modes of the socket and of its directory keep other users out
#endif
}

bool is_number(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// True if the socket's process is gone and no process listens at `path`. The second test is needed because process
/// numbers are per PID namespace.
bool is_left_behind(const std::string& path, const std::string& pid) {
    const bool gone = ::kill(static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), 0) != 0 && errno == ESRCH;
    const auto address = address_of(path);
    const UniqueFd fd = gone ? make_socket() : UniqueFd();
    if (!address || !fd) return false;
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 &&
           errno == ECONNREFUSED;
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

class ControlSocket::Impl {
  public:
    Impl(std::string path, UniqueFd listener, std::array<int, 2> wake, Handler handler)
        : path_(std::move(path)),
          listener_(std::move(listener)),
          stop_reader_(wake[0]),
          stop_writer_(wake[1]),
          handler_(std::move(handler)),
          thread_([this] { run(); }) {}
    ~Impl() {
        stop_writer_.reset();
        thread_.join();
        ::unlink(path_.c_str());
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    void run() {
        for (;;) {
            std::array<pollfd, 2> entries{pollfd{stop_reader_.get(), POLLIN, 0}, pollfd{listener_.get(), POLLIN, 0}};
            if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
            if (entries[0].revents != 0) return;
            if (entries[1].revents == 0) continue;
            const UniqueFd visitor(::accept(listener_.get(), nullptr, nullptr));
            if (!visitor) {
                std::this_thread::sleep_for(kRetryAcceptAfter);
                continue;
            }
            ::fcntl(visitor.get(), F_SETFD, FD_CLOEXEC);
            try {
                if (is_ours(visitor.get())) serve(visitor.get());
            } catch (const std::exception&) {
                // Out of memory: this visitor gets no answer.
            }
        }
    }
    void serve(int fd) {
        const auto line = read_line(fd, kMaxLine);
        if (!line || line->empty()) return;  // the client only tested whether the socket answers
        const timeval patience{kPatience.count(), 0};
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        const auto answer = handler_(*line);
        const std::string text = answer ? std::string(kGood) + *answer : std::string(kBad) + answer.error().message;
        (void)write_all(fd, text + "\n");
    }

    std::string path_;
    UniqueFd listener_;
    UniqueFd stop_reader_;
    UniqueFd stop_writer_;
    Handler handler_;
    std::thread thread_;
};

ControlSocket::ControlSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlSocket::~ControlSocket() = default;
const std::string& ControlSocket::path() const noexcept { return impl_->path(); }

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(Handler handler) {
    const auto directory = runtime_directory();
    if (!directory) return directory.error();
    const std::string path = *directory + "/" + std::to_string(::getpid()) + ".sock";
    const auto address = address_of(path);
    if (!address) return Error{ErrorCode::file_io, path + " is too long for a socket"};
    tidy(*directory);
    ::unlink(path.c_str());  // left by an earlier process with this process's number
    UniqueFd listener = make_socket();
    std::array<int, 2> wake{};
    const bool good =
        listener && ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 &&
        ::chmod(path.c_str(), 0600) == 0 && ::listen(listener.get(), 8) == 0 && ::pipe2(wake.data(), O_CLOEXEC) == 0;
    if (!good) return io_error("cannot listen on " + path, errno);
    try {
        return std::unique_ptr<ControlSocket>(
            new ControlSocket(std::make_unique<Impl>(path, std::move(listener), wake, std::move(handler))));
    } catch (const std::system_error& failed) {
        ::unlink(path.c_str());
        return Error{ErrorCode::file_io,
                     std::string("cannot start the thread of the control socket: ") + failed.what()};
    }
}

Result<std::vector<std::string>> running_transfers() {
    const auto directory = runtime_directory();
    if (!directory) return directory.error();
    return tidy(*directory);
}

Result<std::string> ask_control_socket(const std::string& target, const std::string& line) {
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
    const auto address = address_of(path);
    if (!address) return Error{ErrorCode::invalid_argument, "'" + path + "' cannot be the path of a socket"};
    const UniqueFd fd = make_socket();
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
        return io_error("no running transfer answers at " + path, errno);
    }
    if (const int failed = write_all(fd.get(), line + "\n"); failed != 0) return io_error(path, failed);
    const auto answer = read_line(fd.get(), kMaxAnswer);
    if (!answer) return Error{ErrorCode::timeout, path + " does not answer"};
    if (answer->starts_with(kGood)) return answer->substr(kGood.size());
    if (answer->starts_with(kBad)) return Error{ErrorCode::invalid_argument, answer->substr(kBad.size())};
    return Error{ErrorCode::protocol, path + " gave an answer that is not understood"};
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
