// The common part of a sending and a receiving job.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "proto/application.hpp"
#include "transfer/job_report.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/plan.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::transfer {

/// Called once, when result() is final, on the protocol thread or on a disk thread. It must not destroy the job.
using DoneCallback = std::function<void()>;

/// `path` as an eraser reports it: a directory's ends with `/`.
[[nodiscard]] inline PlannedEntry erased_entry(std::string path) {
    const bool directory = path.ends_with('/');
    if (directory) path.pop_back();
    return {PlannedEntry::Kind::erase, directory ? EntryType::directory : EntryType::file, 0, std::move(path)};
}

/// Order of calls: create() of the derived class, set_waker() (before or during the first event), then the
/// ConnectionHandler calls on the protocol thread. The destructor stops and joins the disk work.
class Job : public proto::ConnectionHandler {
  public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// Any thread.
    void set_waker(proto::Waker waker) { waker_.set(std::move(waker)); }
    /// Any thread.
    [[nodiscard]] virtual Progress progress() const { return report_.progress(); }
    /// Any thread. It is final after the DoneCallback; before that it holds what is known so far.
    [[nodiscard]] virtual Outcome result() const { return report_.outcome(); }
    /// Protocol thread. The first call ends the transfer in good order. The receiver commits complete files, removes
    /// the rest and reports what it has; then the sender closes the connection. A second call closes it at once.
    virtual void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) = 0;

  protected:
    LateWaker waker_;
    JobReport report_;
};

}  // namespace udtx::transfer
