// What the tools print on standard error: lines, the status below them, and the log file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/guarded.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

// Standard error of the tools: whole lines, and below them a status of one or more lines, redrawn in place.

/// Thread-safe. Text is printed as given, so callers must escape text from outside the program.
class Terminal {
  public:
    explicit Terminal(int fd);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] bool is_tty() const noexcept { return tty_; }
    [[nodiscard]] std::size_t columns() const;  ///< current width of the window; 80 if unknown
    [[nodiscard]] std::size_t rows() const;     ///< current height of the window; 24 if unknown
    void line(std::string_view text);
    /// Replaces the status. Lines are separated by '\n', with none after the last. Each line must fit the terminal's
    /// columns(), and their number its rows(). Call it only if is_tty().
    void status(std::string_view text);
    void clear_status();

  private:
    void write(std::string_view bytes) const;

    int fd_;
    bool tty_;
    Guarded<std::size_t> status_lines_;  // 0: no status is shown. Its mutex also keeps writes apart.
};

}  // namespace udtx::apps

// Messages of the tools: one line each to standard error, and with a timestamp to the file of --log.

namespace spdlog {
class logger;
}

namespace udtx::apps {

/// Thread-safe. Messages may hold text from other hosts or file names, so the log escapes them.
class Log {
  public:
    enum class Verbosity { quiet, normal, verbose };

    /// Each message starts with `program` and a colon. The terminal must outlive the log.
    Log(const std::string& program, Terminal& terminal, Verbosity verbosity);
    /// Writes each later message as one JSON object: time, level, program, pid, message. Call it before add_file().
    void use_json();
    /// Also appends messages to a file. It writes `first` at once, so an unwritable file is reported here.
    Result<void> add_file(const std::filesystem::path& path, std::string_view first);
    /// file_io: a message was not written to the file.
    [[nodiscard]] Result<void> file_status() const;

    void error(std::string_view message);   ///< always shown
    void warn(std::string_view message);    ///< not on the terminal with -q
    void info(std::string_view message);    ///< not on the terminal with -q
    void detail(std::string_view message);  ///< only with -v
    /// info() with further members for the JSON object: `members` is that object without its braces.
    void event(std::string_view message, std::string_view members);
    /// Receives the library's messages. The log must outlive the sink.
    [[nodiscard]] LogSink sink();

  private:
    /// The message as it is printed: a long one is cut in the middle, except in JSON.
    [[nodiscard]] std::string printable(std::string_view message) const;

    Verbosity verbosity_;
    bool json_ = false;
    std::shared_ptr<struct LogFile> file_;
    std::shared_ptr<spdlog::logger> logger_;
};

/// Runs a tool: `command` gets the first word of the command line, or an empty one, and the words after it. Reports
/// exceptions that reach main(), and returns the exit code.
[[nodiscard]] int run_tool(
    const char* name, int argc, char** argv,
    const std::function<ExitCode(Terminal&, const std::string& word, std::vector<std::string> arguments)>& command);

}  // namespace udtx::apps
