#include "common/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <mutex>

#include "common/text.hpp"

namespace udtx::apps {
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

Result<void> Log::add_file(const std::filesystem::path& path) {
    try {
        auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
        sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %n[%P] %l: %v");
        sink->set_level(spdlog::level::debug);
        logger_->sinks().push_back(std::move(sink));
        logger_->flush_on(spdlog::level::info);
    } catch (const spdlog::spdlog_ex& e) {
        return Error{ErrorCode::file_io, std::string("cannot write the log: ") + e.what()};
    }
    return {};
}

void Log::error(std::string_view message) { logger_->log(spdlog::level::err, escape_message(message)); }
void Log::warn(std::string_view message) { logger_->log(spdlog::level::warn, escape_message(message)); }
void Log::info(std::string_view message) { logger_->log(spdlog::level::info, escape_message(message)); }
void Log::detail(std::string_view message) { logger_->log(spdlog::level::debug, escape_message(message)); }

}  // namespace udtx::apps
