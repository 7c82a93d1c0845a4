// The receiver's disk work as a task: operations from the protocol thread are taken, one after the other, by the
// landing that the offer asks for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "transfer/disk_pool.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/landing/receive_ops.hpp"
#include "transfer/stop_event.hpp"
#include "transfer/work_clock.hpp"

namespace udtx::transfer {

struct ReceiveJobOptions;

/// Of the protocol thread, but for what says otherwise. Destroyed, it has tidied up.
class LandingTask {
  public:
    /// All outlive it.
    LandingTask(const ReceiveJobOptions& options, LateWaker& waker, JobReport& report);
    ~LandingTask();
    LandingTask(const LandingTask&) = delete;
    LandingTask& operator=(const LandingTask&) = delete;

    [[nodiscard]] ReceiveQueue& queue() noexcept { return queue_; }
    [[nodiscard]] ReceiveFeedback& feedback() noexcept { return feedback_; }

    /// Once. `base`: null where no file is touched. `over` is called in the task when it has tidied up.
    void start(const ConfinedDir* base, const message::Offer& offer, std::function<void()> over);
    [[nodiscard]] bool started() const noexcept { return task_.has_value(); }
    /// Nothing more is to be done: what waits for a pipe ends, and the landing tidies up.
    void stop();

    /// Any thread: so long it has been at work.
    [[nodiscard]] Duration busy() const noexcept { return work_.busy(); }
    /// Any thread: memory of operations that wait and of what the landing remembers.
    [[nodiscard]] std::uint64_t held() const { return queue_.cost() + landed_; }

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep work();
    [[nodiscard]] std::unique_ptr<Landing> make_landing();
    /// False: another transfer is at it.
    [[nodiscard]] Result<bool> measure_quota(const DiskSlice& slice);
    [[nodiscard]] DiskStep keep_trouble(Error error) noexcept;
    void tell_trouble();

    const ReceiveJobOptions& options_;
    JobReport& report_;
    ReceiveFeedback feedback_;
    ReceiveQueue queue_{SIZE_MAX};   // the stream's window bounds the pieces, Announcements the rest
    std::optional<StopEvent> stop_;  // of a write to a pipe
    WorkClock work_;
    const ConfinedDir* base_ = nullptr;
    std::optional<message::Offer> offer_;
    std::function<void()> over_;
    std::atomic<std::uint64_t> landed_{0};  // bytes that the landing holds
    std::optional<DiskQuota::Look> look_;   // at what counts towards the quota, at the beginning
    std::unique_ptr<Landing> landing_;
    std::optional<Error> trouble_;  // what a step threw
    bool trouble_told_ = false;
    std::optional<DiskTask> task_;  // last: it uses what stands above
};

}  // namespace udtx::transfer
