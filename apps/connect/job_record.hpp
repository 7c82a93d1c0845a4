// What this user knows of the shards of one job: in which run of the job each has ended well. Each process of the job
// sees one shard only. Without the record, half of a job could go to one directory and half to another, with code 0
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "observe/final_report.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::apps {

/// A file in $XDG_STATE_HOME/udtx/jobs, or else in ~/.local/state/udtx/jobs. Its lines are "K RUN CUT" for a shard
/// whose last run has ended well, and "complete RUN CUT"; the later line of a shard counts, and run 0 takes it back.
/// All processes of this user that share the directory share it; they lock it.
class JobRecord {
  public:
    struct Job {
        std::string name;                  ///< as typed; may be empty
        std::vector<std::string> sources;  ///< on this host
        std::string place;                 ///< the destination, without its host
    };
    /// file_io: the file cannot be used. With a receipt the shard runs without it.
    static Result<JobRecord> open(const Job& job, const transfer::JobShard& shard, bool has_receipt);

    /// Adds what this end knows of the shard: the run of the job that it has met and the one that it was delivered in.
    void describe(transfer::JobShard& shard) const;
    /// Takes the end of a connection. If all shards have now delivered everything, and yet some of them in another run,
    /// `report` becomes a failure.
    void judge(FinalReport& report);

  private:
    struct End {
        std::uint64_t run = 0;
        std::uint64_t cut = 0;
    };
    struct Known {
        std::map<std::size_t, End> ends{};  ///< of shards, since the job was complete
        End complete{};                     ///< the last run of the job that was; run 0: none
    };
    JobRecord(std::string path, const transfer::JobShard& shard, bool has_receipt);
    [[nodiscard]] Result<void> judge(transfer::JobState& job);
    [[nodiscard]] Result<void> judge_once(transfer::JobState& job);
    /// The last run of the shard no longer counts.
    [[nodiscard]] Result<void> begin();
    [[nodiscard]] Result<Known> read();
    /// Adds the line of this shard.
    [[nodiscard]] Result<void> note(std::uint64_t run);
    [[nodiscard]] Result<void> write(const std::string& text, bool replace);
    /// Changes with the division of the tree and with what is selected.
    [[nodiscard]] std::uint64_t cut() const noexcept { return shard_.split ^ (shard_.selection << 1U); }
    [[nodiscard]] Error cannot(const char* what, int error) const;

    UniqueFd file_;  // none: only the receipt will tell
    std::string path_;
    transfer::JobShard shard_;
    bool has_receipt_;
    std::uint64_t met_ = 0;  // the run of the job, as the first connection met it
};

}  // namespace udtx::apps
