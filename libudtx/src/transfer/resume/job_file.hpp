// A file in the directory that takes a job, for all of its shards, which may run in several processes on several hosts:
// how the tree is cut, which parts of the files that several shards fill are there, and which shards are done.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/resume/job_format.hpp"
#include "transfer/split/job_rate.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/job_shard.hpp"

namespace udtx::transfer {

/// Thread-safe. Every change is made under a lock of the file and is synced before it counts.
class JobFile {
  public:
    /// A file that several shards fill, as its source has it.
    struct Version {
        std::string path;
        std::uint64_t size = 0;
        FileTime mtime{};
    };

    /// refused: the shards that came before cut the tree otherwise. file_io: it cannot be used, as where a disk has no
    /// locks.
    static Result<std::unique_ptr<JobFile>> open(ConfinedDir root, const JobShard& shard, HashAlgorithm hash);
    JobFile(const JobFile&) = delete;
    JobFile& operator=(const JobFile&) = delete;
    ~JobFile();

    /// Some of a file that several shards fill is there, or was when this shard began.
    [[nodiscard]] bool has_parts() const;
    /// Makes the temporary name.
    [[nodiscard]] std::uint64_t temporary_for(const std::string& path) const;
    /// `open` opens or makes the temporary file: true: it is new. No other shard does so at the same time. refused: the
    /// shards have different versions of the file, and this is the older one.
    Result<void> begin(const Version& version, const std::function<Result<bool>()>& open);
    /// What is said to be on disk of that part.
    [[nodiscard]] std::vector<ProvenPiece> claimed(const Version& version, const FileRange& part);
    /// This part has these pieces, and they are synced. True: nothing of the file is missing. refused: it has been
    /// begun anew meanwhile, for another version.
    Result<bool> fill(const Version& version, const FileRange& part, const std::vector<ProvenPiece>& pieces);
    /// The file has its name.
    void named(const std::string& path);
    /// What the runs of all shards tell of themselves. `change` gets all of it and may change this shard's own, while
    /// no other shard does so. file_io: it cannot be read or written.
    Result<void> exchange(const std::function<void(std::vector<ShardSlot>&)>& change);
    /// This shard has delivered everything. refused: so has every other one, and yet a part of a file is not there: it
    /// was begun anew after a shard had ended, or what that had left is gone.
    /// `wait`: for other shards that are run again and do not begin at the same time.
    Result<void> finish(std::chrono::milliseconds wait = std::chrono::seconds(3));
    /// After that: where all shards are done, the file goes.
    void remove();

  private:
    class Locked;
    JobFile(ConfinedDir root, const JobShard& shard, HashAlgorithm hash);

    const ConfinedDir root_;
    const JobShard shard_;
    const HashAlgorithm hash_;
    mutable std::mutex mutex_;  // guards what follows
    UniqueFd fd_;
    UniqueFd slots_;
    JobImage image_;
    std::uint64_t end_ = 0;  // of what was read
};

}  // namespace udtx::transfer
