#include "common/log.hpp"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::apps {
namespace {

/// The current size of the window; zeros if unknown.
winsize window_of(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
    return size;
}

/// The cursor is in the last line of the status. The escapes move it to the first line and clear everything from there.
std::string erase_status(std::size_t& lines) {
    if (lines == 0) return {};
    std::string out = "\r";
    for (; lines > 1; --lines) out += "\x1b[A";
    lines = 0;
    return out + "\x1b[J";
}

}  // namespace

Terminal::Terminal(int fd) : fd_(fd), tty_(isatty(fd) == 1) {}

Terminal::~Terminal() { clear_status(); }

std::size_t Terminal::columns() const {
    const auto columns = window_of(fd_).ws_col;
    return columns > 0 ? columns : 80;
}

std::size_t Terminal::rows() const {
    const auto rows = window_of(fd_).ws_row;
    return rows > 0 ? rows : 24;
}

void Terminal::line(std::string_view text) {
    const auto shown = status_lines_.lock();
    write(erase_status(*shown).append(text) + '\n');
}

void Terminal::status(std::string_view text) {
    const auto shown = status_lines_.lock();
    write(erase_status(*shown).append(text));
    *shown = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void Terminal::clear_status() {
    const auto shown = status_lines_.lock();
    write(erase_status(*shown));
}

void Terminal::write(std::string_view bytes) const {
    // A transfer continues without standard error, so failures are ignored.
    static_cast<void>(write_all(fd_, bytes));
}

struct LogFile {
    std::filesystem::path path;
    UniqueFd fd;
    std::atomic<int> error{0};  // errno of the first failed write; 0: none
};

namespace {

/// Ends the text of a message in a payload; further members for JSON follow. Messages are escaped, so they cannot have
/// it.
constexpr char kMembers = '\x1f';

std::string_view text_in(const spdlog::details::log_msg& message) {
    const std::string_view payload(message.payload.data(), message.payload.size());
    return payload.substr(0, payload.find(kMembers));
}

/// Writes {"time":"2026-01-31T12:00:00.000+00:00","level":"info","program":"udtx-recv","pid":7,"message":"..."}
class JsonFormatter final : public spdlog::formatter {
  public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        spdlog::memory_buf_t time;
        time_.format(message, time);
        const auto level = spdlog::level::to_string_view(message.level);
        const std::string_view text = text_in(message);
        Json json = Json::object({{"time", std::string_view(time.data(), time.size())},
                                  {"level", std::string_view(level.data(), level.size())},
                                  {"program", std::string_view(message.logger_name.data(), message.logger_name.size())},
                                  {"pid", ::getpid()},
                                  {"message", text}});
        std::string object = json.text();
        if (text.size() < message.payload.size()) {
            object.back() = ',';
            object.append(message.payload.data() + text.size() + 1, message.payload.size() - text.size() - 1) += '}';
        }
        out.append(object.data(), object.data() + object.size());
    }
    [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<JsonFormatter>();
    }

  private:
    spdlog::pattern_formatter time_{"%Y-%m-%dT%H:%M:%S.%e%z", spdlog::pattern_time_type::local, ""};
};

class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    explicit TerminalSink(Terminal& terminal) : terminal_(terminal) {}
    void use_json() {
        set_formatter(std::make_unique<JsonFormatter>());
        json_ = true;
    }

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        if (json_) {
            spdlog::memory_buf_t line;
            formatter_->format(message, line);
            return terminal_.line({line.data(), line.size()});
        }
        std::string text(message.logger_name.data(), message.logger_name.size());
        text += ": ";
        text += text_in(message);
        terminal_.line(text);
    }
    void flush_() override {}

  private:
    Terminal& terminal_;
    bool json_ = false;
};

/// Writes each line at once, because the last lines before a crash matter most.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    FileSink(std::shared_ptr<LogFile> file, bool json) : file_(std::move(file)), json_(json) {
        if (json) {
            set_formatter(std::make_unique<JsonFormatter>());
        } else {
            set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %n[%P] %l: %v");
        }
    }

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        spdlog::details::log_msg shown = message;
        const std::string_view text = text_in(message);
        if (!json_) shown.payload = {text.data(), text.size()};
        formatter_->format(shown, line);
        if (json_) line.push_back('\n');
        const int failed = write_all(file_->fd.get(), {line.data(), line.size()});
        int none = 0;
        if (failed != 0) file_->error.compare_exchange_strong(none, failed);
    }
    void flush_() override {}

  private:
    std::shared_ptr<LogFile> file_;
    bool json_;
};

spdlog::level::level_enum least_shown(Log::Verbosity verbosity) {
    switch (verbosity) {
        case Log::Verbosity::quiet:
            return spdlog::level::err;
        case Log::Verbosity::normal:
            return spdlog::level::info;
        case Log::Verbosity::verbose:
            return spdlog::level::debug;
    }
    return spdlog::level::info;
}

}  // namespace

Log::Log(const std::string& program, Terminal& terminal, Verbosity verbosity) : verbosity_(verbosity) {
    auto sink = std::make_shared<TerminalSink>(terminal);
    sink->set_level(least_shown(verbosity));
    logger_ = std::make_shared<spdlog::logger>(program, std::move(sink));
    logger_->set_level(spdlog::level::debug);
}

void Log::use_json() {
    json_ = true;
    for (const auto& sink : logger_->sinks()) {
        if (auto* const terminal = dynamic_cast<TerminalSink*>(sink.get())) terminal->use_json();
    }
}

Result<void> Log::add_file(const std::filesystem::path& path, std::string_view first) {
    file_ = std::make_shared<LogFile>();
    file_->path = path;
    auto fd = open_output(path.string(), O_WRONLY | O_CREAT | O_APPEND);
    if (!fd) {
        file_->error = fd.error().system_error;
        return Error{ErrorCode::file_io, "--log: cannot write the log " + path.string() + ": " + fd.error().message};
    }
    file_->fd = std::move(*fd);
    const auto sink = std::make_shared<FileSink>(file_, json_);
    // -q affects only the terminal.
    sink->set_level(verbosity_ == Verbosity::verbose ? spdlog::level::debug : spdlog::level::info);
    sink->log(spdlog::details::log_msg(logger_->name(), spdlog::level::info, escape_message(first)));
    logger_->sinks().push_back(sink);
    return file_status();
}

Result<void> Log::file_status() const {
    if (!file_ || file_->error == 0) return {};
    return failed_call(ErrorCode::file_io, "--log: cannot write the log " + file_->path.string(), file_->error);
}

std::string Log::printable(std::string_view message) const {
    // A path may have 4 kB. JSON is for programs, which need all of it.
    constexpr std::size_t kLongestLine = 500;
    std::string text = escape_message(message);
    return json_ ? text : shorten(text, kLongestLine);
}

void Log::error(std::string_view message) { logger_->log(spdlog::level::err, printable(message)); }
void Log::warn(std::string_view message) { logger_->log(spdlog::level::warn, printable(message)); }
void Log::info(std::string_view message) { logger_->log(spdlog::level::info, printable(message)); }
void Log::detail(std::string_view message) { logger_->log(spdlog::level::debug, printable(message)); }

void Log::event(std::string_view message, std::string_view members) {
    logger_->log(spdlog::level::info, escape_message(message) + kMembers + std::string(members));
}

LogSink Log::sink() {
    return [this](LogLevel level, const std::string& text) { level == LogLevel::warning ? warn(text) : detail(text); };
}

int run_tool(
    const char* name, int argc, char** argv,
    const std::function<ExitCode(Terminal&, const std::string& word, std::vector<std::string> arguments)>& command) {
    const auto failed = [name](const char* what, ExitCode code) {
        std::cerr << name << ": " << what << '\n';
        return static_cast<int>(code);
    };
    try {
        end_cleanly_without_memory();
        forbid_core_dumps();
        raise_descriptor_limit();
        Terminal terminal(STDERR_FILENO);
        std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
        return static_cast<int>(command(terminal, argc > 1 ? argv[1] : "", std::move(arguments)));
    } catch (const std::system_error& e) {
        // The system refuses a thread. This is not an error of the program.
        return failed(e.what(), ExitCode::network);
    } catch (const std::bad_alloc&) {
        return failed("out of memory", ExitCode::network);
    } catch (const std::exception& e) {
        return failed(e.what(), ExitCode::protocol);
    }
}

}  // namespace udtx::apps
