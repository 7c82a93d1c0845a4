#include "dial/attempt_course.hpp"

#include <cstdlib>
#include <utility>

#include "dial/attempt_report.hpp"

namespace udtx::apps {
namespace {

[[noreturn]] void leave(const AttemptCourse& course, FinalReport report) {
    if (course.receipt) course.receipt->discard();
    course.observers->finish(report);
    // leave() may end the process, so the control socket must be removed first.
    course.observers.reset();
    course.leave(report);
    std::abort();
}

/// Why the remote end over ssh refuses to serve, if this is why there is no connection.
std::optional<Error> refusal(RemoteEnd* remote, const transfer::Transfer& transfer) {
    if (remote == nullptr || transfer.connected_for() || transfer.cancelled()) return std::nullopt;
    const auto answer = remote->await_answer();
    if (!answer) return answer.error();
    return remote->gone() ? std::optional(remote->ended_early()) : std::nullopt;
}

}  // namespace

Attempt run_attempt(const AttemptCourse& course, transfer::Transfer& transfer) {
    AttemptWaiter waiter({.signals = course.signals,
                          .end = course.end,
                          .observers = *course.observers,
                          .log = course.log,
                          .remote = course.remote,
                          .known = course.known},
                         transfer);
    do {
        if (!waiter.wait()) leave(course, course.report(waiter));
        const auto why = refusal(course.remote, transfer);
        if (why) return not_begun(course.options, *course.observers, *why);
    } while (!transfer.done());
    waiter.look_back();
    FinalReport report = course.report(waiter);
    const Attempt::End end = end_of(transfer);
    const bool nothing = report.progress.bytes_done == 0 && report.progress.files_done == 0;
    // A stream counts as a file once it is read.
    const bool unread = !course.reads_pipe || report.progress.files_total == 0;
    const bool untouched = !transfer.connected_for() || (end == Attempt::End::sent_away && nothing && unread);
    const bool goes_on = end == Attempt::End::sent_away && (course.resumable || untouched);
    // A disk thread may be blocked in a call that cannot be interrupted: a read of standard input, or a file server
    // that hangs.
    if (report.code == ExitCode::interrupted && !goes_on) leave(course, std::move(report));
    return {std::move(report), end, waiter.last_moved(), untouched};
}

}  // namespace udtx::apps
