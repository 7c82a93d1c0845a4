#include "options/begin.hpp"

namespace udtx::apps {

FinalReport never_began(const CommonOptions& options, const Error& error) {
    FinalReport report;
    report.code = exit_code_for(error.code);
    report.error = error.message;
    report.congestion = options.congestion_in_use();
    report.streams = options.streams;
    report.transfers = 0;
    return report;
}

Result<void> open_log(Log& log, const CommonOptions& options) {
    if (options.observing.log_format_text == "json") log.use_json();
    if (options.log_text.empty()) return {};
    return log.add_file(options.log_text, "started, version " UDTX_VERSION);
}

}  // namespace udtx::apps
