// What the tools say: one line a message to standard error, and with times to the file of --log.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "common/terminal.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"

namespace spdlog {
class logger;
}

namespace udtx::apps {

/// Thread-safe. Messages may hold text from elsewhere: it is escaped here.
class Log {
  public:
    enum class Verbosity { quiet, normal, verbose };

    /// Messages start with `program` and a colon. The terminal outlives the log.
    Log(const std::string& program, Terminal& terminal, Verbosity verbosity);
    /// From now on each message is one JSON object: time, level, program, pid, message. Before add_file().
    void use_json();
    /// Appends to the file, beginning with `first`: whether it can be written is known at once.
    Result<void> add_file(const std::filesystem::path& path, std::string_view first);
    /// file_io: a message did not get into the file.
    [[nodiscard]] Result<void> file_status() const;

    void error(std::string_view message);   ///< always shown
    void warn(std::string_view message);    ///< in a terminal not with -q
    void info(std::string_view message);    ///< likewise
    void detail(std::string_view message);  ///< only with -v
    /// For what the library has to tell. The log outlives it.
    [[nodiscard]] LogSink sink();

  private:
    struct FileState;
    Verbosity verbosity_;
    bool json_ = false;
    std::shared_ptr<FileState> file_;
    std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace udtx::apps
