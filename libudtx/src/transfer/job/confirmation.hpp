// What the receiver reports about a transfer, up to its confirmation, and what the sender does with it.
#pragma once

#include <cstdint>
#include <optional>

#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::transfer {

class ReadingTask;

/// Protocol thread.
class Confirmation {
  public:
    /// All arguments outlive it.
    Confirmation(const SendOptions& options, ReadingTask& reading, JobReport& report)
        : options_(options), reading_(reading), report_(report) {}

    /// Everything was sent, so a confirmation may arrive from now on.
    void expect_confirmation(const message::Finish& sent) { sent_ = sent; }
    [[nodiscard]] bool all_sent() const noexcept { return sent_.has_value(); }

    /// Error protocol: a receiver never sends this message.
    Result<void> take(const Message& message);
    /// The last word, after which nothing follows: the status of the transfer, or why the receiver stopped.
    [[nodiscard]] const std::optional<Result<void>>& last_word() const noexcept { return last_word_; }
    [[nodiscard]] bool confirmed() const noexcept { return confirmed_; }

  private:
    Result<void> on_failure(const message::FileFailed& m);
    Result<void> on_confirm(const message::Confirm& m);
    void on_stopped(const message::Stopped& m);
    void on_resume(const message::Resume& m);
    Result<void> on_job(const message::Job& m);
    Result<void> on_erased(const message::Erased& m);
    /// Stores the receiver's own counts.
    void note(const message::Totals& totals);
    /// Checks that the counts match what was sent.
    [[nodiscard]] Result<void> check_counts(const message::Totals& totals) const;
    void warn_of(const message::Totals& totals);

    const SendOptions& options_;
    ReadingTask& reading_;
    JobReport& report_;
    std::optional<message::Finish> sent_;
    std::optional<Result<void>> last_word_;
    bool confirmed_ = false;
    std::uint64_t failures_ = 0;
    std::uint64_t latest_failure_ = 0;  // the highest index of them
    std::uint64_t damaged_ = 0;         // pieces that the receiver's disk altered
};

}  // namespace udtx::transfer
