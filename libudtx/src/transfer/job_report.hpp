// Progress and outcome of a job, shared by its threads.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "proto/application.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::transfer {

class JobReport {
  public:
    [[nodiscard]] Progress progress() const;
    [[nodiscard]] Outcome outcome() const;
    void fail(FailedFile failure);
    /// Sender: of an entry that was found and cannot be announced to the receiver.
    void fail_unannounced(FailedFile failure);
    [[nodiscard]] std::uint64_t unannounced() const;
    void warn(std::string text);
    /// It was delivered, but for this.
    void lacks(const Unset& unset);
    /// fn(Progress&, Outcome&) under the lock.
    template <class Fn>
    void edit(Fn&& fn) {
        const std::lock_guard lock(mutex_);
        fn(progress_, outcome_);
    }

  private:
    mutable std::mutex mutex_;
    Progress progress_;
    Outcome outcome_;
    std::uint64_t unannounced_ = 0;
};

/// Status at the end of a transfer that was not cut short: ok, partial (also where only something that belongs to an
/// entry could not be set), or the cause when nothing at all arrived.
[[nodiscard]] Result<void> status_from_failures(const Outcome& outcome);

/// A Waker that may be set late and called from any thread; calls before it is set are made up for.
class LateWaker {
  public:
    void set(proto::Waker waker);
    void wake();

  private:
    std::mutex mutex_;
    proto::Waker waker_;
    bool missed_ = false;
};

}  // namespace udtx::transfer
