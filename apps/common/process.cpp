#include "common/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "common/descriptors.hpp"
#include "common/units.hpp"

namespace udtx::apps {

void forbid_core_dumps() noexcept {
#ifdef NDEBUG
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#endif
}

ExitCode print_output(Log& log, std::string_view text, ExitCode code) {
    const int failed = write_all(STDOUT_FILENO, text);
    if (failed == 0) return code;
    // EBADF: standard output was closed when we were started.
    log.error("cannot write to standard output: " +
              (failed == EBADF ? std::string("it is closed") : std::generic_category().message(failed)));
    return code == ExitCode::ok ? ExitCode::file_io : code;
}

ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json) {
    log.error(message);
    return json ? print_output(log, error_json(code, message) + "\n", code) : code;
}

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

void check_log(Log& log, FinalReport& report) {
    const auto written = log.file_status();
    if (written || report.code != ExitCode::ok) return;
    report.code = ExitCode::file_io;
    report.error = written.error().message;
    log.error(report.error);
}

const char* program_version() noexcept { return UDTX_VERSION; }

bool wants_json(const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::any_of(arguments.begin(), end, [](const auto& a) { return a == "--json" || a == "--json-stream"; });
}

std::string describe_rate_cap(Rate rate) {
    if (rate.is_infinite()) return "rate cap: none";
    return "rate cap: " + format_rate(rate) + " (" + format_byte_rate(rate) + ")";
}

}  // namespace udtx::apps
