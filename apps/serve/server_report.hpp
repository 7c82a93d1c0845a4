// The combined report of all transfers of a run.
#pragma once

#include <string>

#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "serve/transfers.hpp"

namespace udtx::apps {

/// A single transfer's own report, or the sums over several. Use it on one thread.
class TotalReport {
  public:
    explicit TotalReport(const RecvCommand& command);

    void add(FinalReport report);
    /// A signal ended the running transfers.
    void interrupted_by(int signal);
    /// The server cannot go on.
    void failed(const Error& why);
    /// The run ended as requested. Each transfer has already reported its own code and error.
    void drained();
    [[nodiscard]] std::uint64_t transfers() const noexcept { return total_.transfers; }
    [[nodiscard]] FinalReport& get() noexcept { return total_; }

  private:
    [[nodiscard]] std::string delivery() const;

    bool one_off_;
    FinalReport total_;
};

// Reports of a receiver about its transfers.

/// The report about one served transfer, ended or running.
[[nodiscard]] FinalReport report_of(const RecvCommand& command, const WatchedTransfer& watched);
/// Prints the messages about one transfer or the whole run. `of` is put before each line. `sent`: this side sent the
/// data.
void show(const RecvRun& run, const FinalReport& report, const std::string& of, bool sent);

}  // namespace udtx::apps
