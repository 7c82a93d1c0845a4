#include "common/log.hpp"

#include <fcntl.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>

#include "common/descriptors.hpp"
#include "common/text.hpp"
#include "os/unique_fd.hpp"

namespace udtx::apps {

struct Log::FileState {
    std::filesystem::path path;
    UniqueFd fd;
    std::atomic<int> error{0};  // errno of the first line that was not written
};

namespace {

class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    explicit TerminalSink(Terminal& terminal) : terminal_(terminal) {}

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        std::string text(message.logger_name.data(), message.logger_name.size());
        text += ": ";
        text.append(message.payload.data(), message.payload.size());
        terminal_.line(text);
    }
    void flush_() override {}

  private:
    Terminal& terminal_;
};

/// Writes each line at once: what happened just before a crash is what one looks for. `State` is Log::FileState.
template <class State>
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    explicit FileSink(std::shared_ptr<State> state) : state_(std::move(state)) {}

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        const int failed = write_all(state_->fd.get(), {line.data(), line.size()});
        int none = 0;
        if (failed != 0) state_->error.compare_exchange_strong(none, failed);
    }
    void flush_() override {}

  private:
    std::shared_ptr<State> state_;
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

Log::Log(const std::string& program, Terminal& terminal, Verbosity verbosity) {
    auto sink = std::make_shared<TerminalSink>(terminal);
    sink->set_level(least_shown(verbosity));
    logger_ = std::make_shared<spdlog::logger>(program, std::move(sink));
    logger_->set_level(spdlog::level::debug);
}

Result<void> Log::add_file(const std::filesystem::path& path, std::string_view first) {
    file_ = std::make_shared<FileState>();
    file_->path = path;
    file_->fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file_->fd) {
        file_->error = errno;
        return file_status();
    }
    const auto sink = std::make_shared<FileSink<FileState>>(file_);
    sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %n[%P] %l: %v");
    sink->set_level(spdlog::level::debug);
    sink->log(spdlog::details::log_msg(logger_->name(), spdlog::level::info, escape_message(first)));
    logger_->sinks().push_back(sink);
    return file_status();
}

Result<void> Log::file_status() const {
    if (!file_ || file_->error == 0) return {};
    return Error{ErrorCode::file_io,
                 "cannot write the log " + file_->path.string() + ": " + std::generic_category().message(file_->error)};
}

void Log::error(std::string_view message) { logger_->log(spdlog::level::err, escape_message(message)); }
void Log::warn(std::string_view message) { logger_->log(spdlog::level::warn, escape_message(message)); }
void Log::info(std::string_view message) { logger_->log(spdlog::level::info, escape_message(message)); }
void Log::detail(std::string_view message) { logger_->log(spdlog::level::debug, escape_message(message)); }

}  // namespace udtx::apps
