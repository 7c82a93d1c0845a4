// What the receiver says of a transfer: whether it can be, and what the sender makes of it.
#pragma once

#include <cstdint>
#include <optional>

#include "transfer/job/reading_task.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Protocol thread.
class Replies {
  public:
    /// All outlive it.
    Replies(const SendJobOptions& options, ReadingTask& reading, JobReport& report)
        : options_(options), reading_(reading), report_(report) {}

    /// Everything was sent: what comes of it can be confirmed.
    void expect_confirmation(const message::Finish& sent) { sent_ = sent; }
    [[nodiscard]] bool all_sent() const noexcept { return sent_.has_value(); }

    /// Error protocol: no receiver says that.
    Result<void> take(const Message& message);
    /// Nothing comes after it: the status of the transfer, or why the receiver has stopped.
    [[nodiscard]] const std::optional<Result<void>>& last_word() const noexcept { return last_word_; }
    [[nodiscard]] bool confirmed() const noexcept { return confirmed_; }

  private:
    Result<void> on_failure(const message::FileFailed& m);
    Result<void> on_confirm(const message::Confirm& m);
    void on_stopped(const message::Stopped& m);
    void on_resume(const message::Resume& m);
    Result<void> on_erased(const message::Erased& m);
    /// What the receiver has, by its own word.
    void note(const message::Totals& totals);
    /// That is what was sent.
    [[nodiscard]] Result<void> check_counts(const message::Totals& totals) const;
    [[nodiscard]] Result<void> check_tree(const message::Totals& totals, bool all_well) const;
    void warn_of(const message::Totals& totals);

    const SendJobOptions& options_;
    ReadingTask& reading_;
    JobReport& report_;
    std::optional<message::Finish> sent_;
    std::optional<Result<void>> last_word_;
    bool confirmed_ = false;
    std::uint64_t failures_ = 0;
    std::uint64_t latest_failure_ = 0;  // the highest index of them
    std::uint64_t damaged_ = 0;         // pieces that the receiver's disk has altered
};

}  // namespace udtx::transfer
