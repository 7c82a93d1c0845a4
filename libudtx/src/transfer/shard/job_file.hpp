// A file in the directory that takes a job, for all shards of the job. They may run in several processes on several
// hosts. It records how the tree is cut, which parts of the files that several shards fill exist, and which shards are
// done.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/shard/job_format.hpp"
#include "transfer/shard/job_rate.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// Thread-safe. Each change is made under a lock of the file and is synced before it counts.
class JobFile {
  public:
    using Version = SharedVersion;

    /// refused: earlier shards cut the tree in another way, select other entries or use another hash. Also refused:
    /// this shard has met another run of the job. file_io: the file cannot be used, because the disk has no locks, or
    /// because it is damaged. `run`: JobState::run, if the job begins here.
    static Result<std::unique_ptr<JobFile>> open(ConfinedDir root, const JobShard& shard, HashAlgorithm hash,
                                                 std::uint64_t run);
    /// As open(), but creates and changes nothing. ok: no other shard objects.
    static Result<void> check(ConfinedDir root, const JobShard& shard, HashAlgorithm hash);
    JobFile(const JobFile&) = delete;
    JobFile& operator=(const JobFile&) = delete;
    ~JobFile();

    /// True if parts of files that several shards fill exist, or existed when this shard began.
    [[nodiscard]] bool has_parts() const;
    /// The number that makes the temporary name of such a file, as temp_number() for a file of one transfer: the first
    /// eight bytes of SHA-256("shared", NUL, u64 job | path). It is never 0.
    [[nodiscard]] std::uint64_t temporary_for(const std::string& path) const;
    /// The temporary file of such a file.
    struct Opened {
        bool fresh = false;  ///< it is new
        FileTimes times{};
        bool named = false;  ///< it has its final name, and nothing will be written into it
    };
    /// `open` opens or creates the temporary file. No other shard does that at the same time. `whole`: all parts of
    /// this version are filled. Another shard has then given the file its final name, or may do that at any moment.
    /// refused: the shards have different versions of the file, and this is the older one.
    Result<void> begin(const Version& version, const std::function<Result<Opened>(bool whole)>& open);
    /// The pieces of that part that are on disk, according to the file.
    [[nodiscard]] std::vector<ProvenPiece> claimed(const Version& version, const FileRange& part);
    /// What a shard filled.
    struct FilledPart {
        FileRange part{};
        std::vector<ProvenPiece> pieces{};  ///< the rest is a hole
    };
    /// What other shards filled, if something else than a shard may have changed it: before begin() the file had other
    /// times than on record, and no shard was writing it that is known to have begun with those times. May take as long
    /// as kShardLease.
    Result<std::vector<FilledPart>> doubtful(const Version& version, const FileRange& part);
    /// These parts, which begin at these offsets, were read and are void: their shards have to run again. All others
    /// hold. refused: as for fill().
    Result<void> judge(const Version& version, const std::vector<std::uint64_t>& bad);
    /// Call it when the file is left before its part is filled.
    void leave(const Version& version, const FileTimes& times);
    /// Records that this part has these pieces and that they are synced. True: the file is complete, and the caller
    /// gives it its name. refused: the file was started again meanwhile, for another version.
    Result<bool> fill(const Version& version, const FileRange& part, const std::vector<ProvenPiece>& pieces,
                      const FileTimes& times);
    /// True if a shard has given that version its final name.
    [[nodiscard]] bool has_name(const Version& version);
    /// Records that the file has its final name.
    void named(const std::string& path);
    /// Exchanges the state of the runs of all shards. `change` gets all slots and may change this shard's own, while no
    /// other shard does that. file_io: the slots cannot be read or written.
    Result<void> exchange(const std::function<void(std::vector<ShardSlot>&)>& change);
    /// What the file says now. file_io: it is gone.
    Result<JobState> state();
    /// Records that this shard has delivered everything. `unchanged`: it had nothing to write. The state is that of
    /// JobShard::delivered_run if nothing in this run of the job has to be kept. refused: all other shards are done
    /// too, and yet a part of a file is missing. The file was started again after a shard had ended, or the data of
    /// that shard is gone. `wait`: for other shards that run again but begin later. file_io: it cannot be recorded.
    Result<JobState> finish(bool unchanged = false, std::chrono::milliseconds wait = std::chrono::seconds(3));
    /// Records that this shard delivers into these directories of the root. If one is removed, the job begins again.
    void add_tops(const std::set<std::string>& names);
    /// Call it after finish(): removes the file if all shards are done, or if nothing in it has to be kept.
    void remove();

  private:
    class Locked;
    JobFile(ConfinedDir root, const JobShard& shard, HashAlgorithm hash);
    /// True if a directory that earlier shards delivered into was removed, even if it was made again.
    [[nodiscard]] bool lost_a_top() const REQUIRES(mutex_);
    /// Compares the shard with the Head.
    [[nodiscard]] Result<void> fits() const REQUIRES(mutex_);
    [[nodiscard]] JobState state_of_image() const REQUIRES(mutex_);
    /// Reads the slots of all shards. Returns 0 or an errno. Call it with the lock of the file.
    [[nodiscard]] int read_slots(std::vector<ShardSlot>& slots) REQUIRES(mutex_);
    /// The file of that version. Null: it was begun again for another one.
    [[nodiscard]] const JobImage::SharedFile* find(const Version& version) const REQUIRES(mutex_);
    /// As has_name(), as far as the file was read.
    [[nodiscard]] bool is_named(const Version& version) const REQUIRES(mutex_);
    enum class OtherWriter : std::uint8_t { none, possible, alive };
    /// Whether a shard that is known to write the file has received data since begin().
    [[nodiscard]] OtherWriter other_writer(std::uint64_t temporary, const std::vector<ShardSlot>& now) REQUIRES(mutex_);
    /// Adds what is known now about changed_.
    [[nodiscard]] bool clear_up(Locked& locked, const std::vector<ShardSlot>& now) REQUIRES(mutex_);

    const ConfinedDir root_;
    const JobShard shard_;
    const HashAlgorithm hash_;
    bool may_find_ = true;  // no run of this shard has begun to deliver something for this run of the job
    mutable Mutex mutex_;
    UniqueFd fd_ GUARDED_BY(mutex_);
    UniqueFd slots_ GUARDED_BY(mutex_);
    JobImage image_ GUARDED_BY(mutex_);
    std::uint64_t end_ GUARDED_BY(mutex_) = 0;  // up to here the file was read
    /// A report of another shard.
    struct Seen {
        ShardSlot slot;
        bool since = false;  ///< made after begin(); what arrives later arrives while the shard writes
    };
    // Files that had other times than on record when this shard began with them.
    std::map<std::uint64_t, std::vector<Seen>> changed_ GUARDED_BY(mutex_);
};

}  // namespace udtx::transfer
