// The plan of a dry run: what a real run would do.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/read_options.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

/// Counts the entry as if it were done.
void count_planned(const PlannedEntry& entry, Progress& progress, Outcome& outcome);

/// Counts planned entries and reports them. Outside of a dry run it does nothing.
class DryPlan {
  public:
    /// All arguments outlive it.
    DryPlan(const ReadOptions& options, OutgoingPacker& packer, JobReport& report)
        : options_(options), packer_(packer), report_(report) {}

    void add(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes);
    /// Plans a directory or a link, by what the receiver has of it.
    void add_unread(const ScannedEntry& entry, const RemoteHolding& holding);
    /// Plans a file that would be sent.
    void add_changed(const ScannedEntry& entry, std::uint8_t changes);

  private:
    const ReadOptions& options_;
    OutgoingPacker& packer_;
    JobReport& report_;
    std::unordered_set<std::uint64_t> changed_;  // with hard_links: files that would be sent, by path key
};

}  // namespace udtx::transfer
