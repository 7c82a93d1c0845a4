#include "observe/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/descriptors.hpp"

namespace udtx::apps {

ExitCode print_output(Log& log, std::string_view text, ExitCode code) {
    const int failed = write_all(STDOUT_FILENO, text);
    if (failed == 0) return code;
    // EBADF: standard output was closed at the start of the program.
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

}  // namespace udtx::apps
