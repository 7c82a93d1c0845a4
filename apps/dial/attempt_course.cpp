#include "dial/attempt_course.hpp"

#include <cstdlib>
#include <utility>

#include "dial/attempt_report.hpp"
#include "observe/receipt.hpp"

namespace udtx::apps {

namespace {

[[noreturn]] void leave(const AttemptCourse& course, FinalReport report) {
    course.leave(std::move(report));
    std::abort();
}

}  // namespace

Attempt run_attempt(const AttemptCourse& course) {
    course.transport.start();
    if (!course.waiter.wait()) leave(course, course.report());
    if (const auto why = course.refusal()) {
        course.transport.stop(Duration::zero());
        return not_begun(course.options, course.observers, *why, end_of(*why));
    }
    course.dial.sample_stats();
    course.transport.stop(course.drain());
    course.waiter.look_back();
    FinalReport report = course.report();
    // A disk thread may sit in a call that nobody can end: a read of standard input, a file server that hangs.
    if (report.code == ExitCode::interrupted) leave(course, std::move(report));
    const Attempt::End end = end_of(course.waiter, course.dial);
    settle_receipt(course.receipt, end == Attempt::End::final, course.open_kept, report);
    return {std::move(report), end, course.waiter.last_moved()};
}

}  // namespace udtx::apps
