// What the transfers of a run came to together.
#pragma once

#include <string>

#include "observe/final_report.hpp"
#include "options/recv_command.hpp"

namespace udtx::apps {

/// Of one transfer its own report, of several the sums. One thread.
class TotalReport {
  public:
    explicit TotalReport(const RecvCommand& command);

    void add(FinalReport report);
    /// A signal ended what was under way.
    void interrupted_by(int signal);
    /// The run ended as it was asked to: each transfer had its own code and words.
    void drained();
    [[nodiscard]] std::uint64_t transfers() const noexcept { return total_.transfers; }
    [[nodiscard]] FinalReport& get() noexcept { return total_; }

  private:
    [[nodiscard]] std::string delivery() const;

    bool one_off_;
    FinalReport total_;
};

}  // namespace udtx::apps
