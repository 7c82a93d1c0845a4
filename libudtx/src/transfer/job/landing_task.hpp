// The receiver's disk work as a task. The landing that the offer selects takes the operations from the protocol thread,
// one after the other.
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

/// Only the protocol thread calls it, except where a member says otherwise. After the destructor the landing has tidied
/// up.
class LandingTask {
  public:
    /// All arguments outlive it.
    LandingTask(const ReceiveJobOptions& options, LateWaker& waker, JobReport& report);
    ~LandingTask();
    LandingTask(const LandingTask&) = delete;
    LandingTask& operator=(const LandingTask&) = delete;

    [[nodiscard]] ReceiveQueue& queue() noexcept { return queue_; }
    [[nodiscard]] ReceiveFeedback& feedback() noexcept { return feedback_; }

    /// Call it once. `base`: null if no file is touched. The task calls `over` when it has tidied up.
    void start(const ConfinedDir* base, const message::Offer& offer, std::function<void()> over);
    [[nodiscard]] bool started() const noexcept { return task_.has_value(); }
    /// Ends the work: a blocked write to a pipe ends, and the landing tidies up.
    void stop();

    /// Any thread: how long it has worked.
    [[nodiscard]] Duration busy() const noexcept { return work_.busy(); }
    /// Any thread: memory of waiting operations and of the landing's records.
    [[nodiscard]] std::uint64_t held() const { return queue_.cost() + landed_; }

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep work();
    [[nodiscard]] std::unique_ptr<Landing> make_landing();
    /// False: not finished, or another transfer measures at the moment; call it again.
    [[nodiscard]] Result<bool> measure_quota(const DiskSlice& slice);
    [[nodiscard]] DiskStep keep_trouble(Error error) noexcept;
    void tell_trouble();

    const ReceiveJobOptions& options_;
    JobReport& report_;
    ReceiveFeedback feedback_;
    ReceiveQueue queue_{SIZE_MAX};   // the stream's window bounds the pieces, Announcements the rest
    std::optional<StopEvent> stop_;  // ends a blocked write to a pipe
    WorkClock work_;
    const ConfinedDir* base_ = nullptr;
    std::optional<message::Offer> offer_;
    std::function<void()> over_;
    std::atomic<std::uint64_t> landed_{0};  // bytes that the landing holds
    std::optional<DiskQuota::Look> look_;   // measures the quota's use at the start
    std::unique_ptr<Landing> landing_;
    std::optional<Error> trouble_;  // what a step threw
    bool trouble_told_ = false;
    std::optional<DiskTask> task_;  // last: it uses the members above
};

}  // namespace udtx::transfer
