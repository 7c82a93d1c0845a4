#include "report/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "common/descriptors.hpp"

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

}  // namespace udtx::apps
