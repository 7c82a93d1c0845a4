#include "dial/attempt_course.hpp"

#include <cstdlib>
#include <utility>

#include "dial/attempt_report.hpp"

namespace udtx::apps {

namespace {

[[noreturn]] void leave(const AttemptCourse& course, FinalReport report) {
    course.leave(std::move(report));
    std::abort();
}

}  // namespace

Attempt run_attempt(const AttemptCourse& course) {
    if (!course.waiter.wait()) leave(course, course.report());
    if (const auto why = course.refusal()) return not_begun(course.options, course.observers, *why);
    course.waiter.look_back();
    FinalReport report = course.report();
    // A disk thread may sit in a call that nobody can end: a read of standard input, a file server that hangs.
    if (report.code == ExitCode::interrupted) leave(course, std::move(report));
    return {std::move(report), end_of(course.transfer), course.waiter.last_moved()};
}

Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options) {
    if (options.receipt_text.empty()) return std::optional<transfer::ReceiptFile>();
    auto receipt = transfer::ReceiptFile::create(options.receipt_text);
    if (!receipt) return Error{receipt.error().code, "--receipt: " + receipt.error().message};
    return std::optional(std::move(*receipt));
}

}  // namespace udtx::apps
