#include "transfer/shard/job_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/records.hpp"
#include "transfer/names.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

namespace {

// The holder of the lock syncs some kilobytes. A file server needs some seconds to notice that its client has died.
constexpr auto kWaitForLock = std::chrono::seconds(20);
constexpr auto kBetweenTries = std::chrono::milliseconds(2);
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
// At least the first write of a new file. Its sync precedes everything else, so that only a crash can leave less.
constexpr std::uint64_t kFirstWrite = 128;

constexpr std::size_t kSlotBytes = 128;  // each shard writes only its own slot

Error cannot_use(std::uint64_t job, int error) {
    Error out = io_error("cannot use the file that the shards of this job share,", job_file_name(job), error);
    if (error == EMLINK)
        out.message += " (it has a second name, a hard link, and that file must not change: delete it)";
    if (error == EPERM || error == ELOOP || error == EISDIR || error == ENXIO)
        out.message += " (it is not a regular file of the receiver's user: delete it)";
    return out;
}

Result<void> usable(std::uint64_t job, int error) { return error == 0 ? Result<void>() : cannot_use(job, error); }

Error gone(std::uint64_t job) {
    return {ErrorCode::file_io, "'" + job_file_name(job) +
                                    "', which the shards of this job share, was removed while this shard was running: "
                                    "run all shards again"};
}

Error begun_again(const JobFile::Version& version) {
    return {ErrorCode::refused,
            "'" + escape_name(version.path) + "' was started again by another shard: run this shard again"};
}

Error missing_in(const JobImage::SharedFile& file) {
    const FileRange gap = file.first_gap();
    return {ErrorCode::refused,
            "'" + escape_name(file.version.path) + "': bytes " + std::to_string(gap.offset) + " to " +
                std::to_string(gap.offset + gap.length - 1) +
                " are missing, although all shards have ended: the file was started again after "
                "some shards had ended, or their data is gone or changed. Run all shards again; to leave the "
                "file out, first run 'udtx-recv clean --jobs' at the receiver"};
}

/// When the directory was made, if the disk knows; unlike an inode number, that is never the same again.
std::optional<FileTime> time_made(int parent, const std::string& name, int& error) {
    error = 0;
#if defined(__linux__) && defined(STATX_BTIME)
    struct statx found = {};
    if (::statx(parent, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &found) != 0) {
        error = errno;
    } else if ((found.stx_mask & STATX_BTIME) != 0) {
        return FileTime{found.stx_btime.tv_sec, found.stx_btime.tv_nsec};
    }
#else
    static_cast<void>(parent);
    static_cast<void>(name);
#endif
    return std::nullopt;
}

/// A disk with times in whole seconds hides a write in the second of another one.
bool tells_writes(const FileTimes& times) { return times.modified.nanoseconds != 0 || times.changed.nanoseconds != 0; }

int lock_within(int fd, std::chrono::steady_clock::duration most) {
    const auto until = std::chrono::steady_clock::now() + most;
    for (;;) {
        if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
        if (errno != EWOULDBLOCK && errno != EINTR) return errno;
        if (std::chrono::steady_clock::now() >= until) return ETIMEDOUT;
        std::this_thread::sleep_for(kBetweenTries);
    }
}

}  // namespace

/// While it exists, no other process or thread uses the file, and everything that they wrote has been read. The
/// analysis of locks does not see that job_ is the JobFile that was locked.
class SCOPED_CAPABILITY JobFile::Locked {
  public:
    enum class Missing : std::uint8_t { fail, make, look };  ///< look: fails, and nothing is written in any case
    explicit Locked(JobFile& job, Missing missing = Missing::fail) ACQUIRE(job.mutex_) NO_THREAD_SAFETY_ANALYSIS
        : job_(job),
          guard_(job.mutex_),
          error_(take(missing)) {}
    ~Locked() RELEASE() NO_THREAD_SAFETY_ANALYSIS {
        if (job_.fd_) ::flock(job_.fd_.get(), LOCK_UN);
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    [[nodiscard]] int error() const noexcept { return error_; }
    void add(const JobRecord& record) NO_THREAD_SAFETY_ANALYSIS {
        append_record(added_, job_.end_ + added_.size(), record);
    }
    /// Writes and syncs what was added. Returns 0 or an errno.
    [[nodiscard]] int write() NO_THREAD_SAFETY_ANALYSIS {
        int failed = write_all_at(job_.fd_.get(), added_, job_.end_);
        if (failed == 0) failed = sync_data(job_.fd_.get());
        if (knows_no_sync(failed)) failed = 0;
        const std::size_t read = failed == 0 ? job_.image_.read(added_, job_.end_) : 0;
        job_.end_ += read;
        if (failed == 0 && read != added_.size()) failed = EIO;
        added_.clear();
        return failed;
    }

  private:
    /// `make`: creates the file again if the last shard of an earlier round has removed it.
    [[nodiscard]] int take(Missing missing) NO_THREAD_SAFETY_ANALYSIS {
        for (int tries = 0; tries < 100; ++tries) {
            int error = 0;
            if (!job_.fd_ && missing != Missing::make) return ENOENT;
            if (!job_.fd_) {
                job_.fd_ = open_own(job_.root_, job_file_name(job_.shard_.job), error);
                job_.slots_.reset();
                job_.image_ = {};
                job_.end_ = 0;
            }
            struct stat st = {};
            if (error == 0) error = lock_within(job_.fd_.get(), kWaitForLock);
            if (error == 0 && ::fstat(job_.fd_.get(), &st) != 0) error = errno;
            if (error != 0) {
                job_.fd_.reset();
                return error;
            }
            const bool cuts = missing != Missing::look;
            if (st.st_nlink == 0 && missing != Missing::make) {
                // What was in it says whether the last shard has removed it.
                static_cast<void>(read_on(static_cast<std::uint64_t>(st.st_size), cuts));
                return ENOENT;
            }
            if (st.st_nlink > 0) return read_on(static_cast<std::uint64_t>(st.st_size), cuts);
            job_.fd_.reset();
        }
        return EBUSY;
    }
    /// Reads what other shards wrote. If it `cuts`, it cuts off a torn end.
    [[nodiscard]] int read_on(std::uint64_t size, bool cuts) NO_THREAD_SAFETY_ANALYSIS {
        if (size < job_.end_ || size > kMaxJobFileBytes) return EIO;
        std::vector<std::byte> bytes(static_cast<std::size_t>(size - job_.end_));
        std::size_t count = 0;
        if (const int error = read_all_at(job_.fd_.get(), bytes, job_.end_, count); error != 0) return error;
        job_.end_ += job_.image_.read(std::span(bytes).first(count), job_.end_);
        if (!job_.image_.has_head && size > kFirstWrite) return EILSEQ;
        if (cuts && job_.end_ < size && set_length(job_.fd_.get(), static_cast<off_t>(job_.end_)) != 0) return errno;
        return 0;
    }

    JobFile& job_;
    const Lock guard_;
    std::vector<std::byte> added_;
    int error_;
};

JobFile::JobFile(ConfinedDir root, const JobShard& shard, HashAlgorithm hash)
    : root_(std::move(root)), shard_(shard), hash_(hash) {}

JobFile::~JobFile() = default;

Result<std::unique_ptr<JobFile>> JobFile::open(ConfinedDir root, const JobShard& shard, HashAlgorithm hash,
                                               std::uint64_t run) {
    auto job = std::unique_ptr<JobFile>(new JobFile(std::move(root), shard, hash));
    {
        const Locked earlier(*job, Locked::Missing::make);
        if (earlier.error() == 0 && job->lost_a_top()) {
            remove_from(job->root_.fd(), shard_slots_name(shard.job));
            remove_from(job->root_.fd(), job_file_name(shard.job));
        }
    }
    {
        const Lock lock(job->mutex_);
        job->fd_.reset();
    }
    Locked locked(*job, Locked::Missing::make);
    if (locked.error() == EILSEQ) {
        return Error{ErrorCode::refused, "'" + job_file_name(shard.job) +
                                             "', which the shards of this job share, is damaged or of another version: "
                                             "remove it, and run all shards again"};
    }
    if (locked.error() != 0) return cannot_use(shard.job, locked.error());
    if (auto fitting = job->fits(); !fitting) return fitting.error();
    if (!job->image_.has_head) {
        locked.add(job_record::Head{.job = shard.job,
                                    .count = shard.count,
                                    .split = shard.split,
                                    .hash = hash,
                                    .selection = shard.selection,
                                    .run = run});
    }
    using State = job_record::ShardState::State;
    job->may_find_ = !job->image_.has_head || job->image_.shards[shard.index].value_or(State::found) == State::found;
    locked.add(job_record::ShardState{shard.index});
    if (const int error = locked.write(); error != 0) return cannot_use(shard.job, error);
    return job;
}

Result<void> JobFile::check(ConfinedDir root, const JobShard& shard, HashAlgorithm hash) {
    JobFile job(std::move(root), shard, hash);
    auto [fd, error] = job.root_.open_at(job_file_name(shard.job), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st = {};
    if (fd) error = ::fstat(fd.get(), &st) == 0 ? unlike_own(st) : errno;
    // open() gives its owner the rights that an own file may lack.
    if (error != 0 && error != ENOENT && error != EACCES) return cannot_use(shard.job, error);
    {
        const Lock lock(job.mutex_);
        job.fd_ = std::move(fd);
    }
    const Locked locked(job, Locked::Missing::look);
    return locked.error() == 0 && !job.lost_a_top() ? job.fits() : Result<void>();
}

bool JobFile::lost_a_top() const {
    return std::ranges::any_of(image_.tops, [this](const auto& top) {
        int error = 0;
        const auto made = time_made(root_.fd(), top.first, error);
        return error == ENOENT || (made && *made != top.second);
    });
}

void JobFile::add_tops(const std::set<std::string>& names) {
    Locked locked(*this);
    if (locked.error() != 0) return;
    int error = 0;
    for (const std::string& name : names) {
        const auto made = time_made(root_.fd(), name, error);
        const auto known = image_.tops.find(name);
        if (made && (known == image_.tops.end() || known->second != *made)) locked.add(job_record::Top{{name}, *made});
    }
    static_cast<void>(locked.write());  // without it, only 'receipt verify' notices that such a directory is removed
}

Result<void> JobFile::fits() const {
    const job_record::Head& head = image_.head;
    const bool met = shard_.run != 0;
    if (met && (!image_.has_head || head.run != shard_.run)) {
        return Error{ErrorCode::refused,
                     "this job was begun again since this shard first connected: the destination, or the record of the "
                     "job in it, was removed or is another one. Run all shards again"};
    }
    if (!image_.has_head) return {};
    if (head.job != shard_.job || head.count != shard_.count) return cannot_use(shard_.job, EINVAL);
    if (head.selection != shard_.selection) {
        return Error{ErrorCode::refused,
                     "the shards of this job have different filters or names: give all of them the same --exclude, "
                     "--include, --files-from and --links, or start another job with --job"};
    }
    if (head.split != shard_.split) {
        return Error{ErrorCode::refused,
                     "the tree changed since this job began, or its shards have different plans: give all of them the "
                     "same --plan, or start another job with --job"};
    }
    if (head.hash != hash_) {
        return Error{ErrorCode::refused, "the shards of this job have different hashes: give all of them the same"};
    }
    return {};
}

JobState JobFile::state_of_image() const {
    return {.run = image_.head.run,
            .index = shard_.index,
            .count = shard_.count,
            .done = image_.done(),
            .waiting = image_.files.size()};
}

Result<JobState> JobFile::state() {
    const Locked locked(*this);
    if (locked.error() == ENOENT) return gone(shard_.job);
    if (locked.error() != 0) return cannot_use(shard_.job, locked.error());
    return state_of_image();
}

bool JobFile::has_parts() const {
    const Lock lock(mutex_);
    return !image_.files.empty();
}

std::uint64_t JobFile::temporary_for(const std::string& path) const {
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span("shared")));
    hasher.update_u64(shard_.job);
    hasher.update(std::as_bytes(std::span(path)));
    return std::max<std::uint64_t>(wire::load_big_endian(hasher.finish().bytes().data(), 8), 1);
}

Result<void> JobFile::begin(const Version& version, const std::function<Result<Opened>(bool whole)>& open) {
    Locked locked(*this);
    if (locked.error() != 0) return cannot_use(shard_.job, locked.error());
    const std::uint64_t temporary = temporary_for(version.path);
    const auto at = image_.files.find(temporary);
    const bool known = at != image_.files.end();
    const bool same = known && at->second.version == version;
    if (known && !same && version.mtime < at->second.version.mtime) {
        return Error{ErrorCode::refused, "'" + escape_name(version.path) +
                                             "': another shard sends a newer version of it: run this shard again when "
                                             "its host sees that, too"};
    }
    const auto opened = open(same ? at->second.is_whole() : !known && is_named(version));
    if (!opened) return opened.error();
    if (opened->named) return {};
    bool sure = true;
    if (!same || opened->fresh) {
        changed_.erase(temporary);
        locked.add(job_record::FileBegun{
            .temporary = temporary, .path = split_path(version.path), .size = version.size, .mtime = version.mtime});
    } else {
        const JobImage::SharedFile& file = at->second;
        if (file.writers.contains(shard_.index)) return {};
        sure = !file.times || (*file.times == opened->times && tells_writes(opened->times));
        if (!sure) {
            std::vector<ShardSlot> slots;
            if (read_slots(slots) != 0) slots.clear();
            std::vector<Seen>& seen = changed_[temporary];
            for (const ShardSlot& slot : slots) seen.push_back({slot, false});
        }
    }
    locked.add(job_record::FileOpened{temporary, shard_.index, sure});
    return usable(shard_.job, locked.write());
}

std::vector<ProvenPiece> JobFile::claimed(const Version& version, const FileRange& part) {
    const Locked locked(*this);
    const JobImage::SharedFile* const file = locked.error() == 0 ? find(version) : nullptr;
    return file == nullptr ? std::vector<ProvenPiece>() : file->pieces_in(part);
}

const JobImage::SharedFile* JobFile::find(const Version& version) const {
    const auto at = image_.files.find(temporary_for(version.path));
    return at != image_.files.end() && at->second.version == version ? &at->second : nullptr;
}

bool JobFile::is_named(const Version& version) const {
    const auto at = image_.named.find(temporary_for(version.path));
    return at != image_.named.end() && at->second == version;
}

JobFile::OtherWriter JobFile::other_writer(std::uint64_t temporary, const std::vector<ShardSlot>& now) {
    const auto file = image_.files.find(temporary);
    std::vector<Seen>& seen = changed_.at(temporary);
    OtherWriter out = OtherWriter::none;
    for (const auto& [index, sure] : file->second.writers) {
        const auto i = static_cast<std::size_t>(index);
        if (!sure || i == shard_.index || i >= seen.size()) continue;
        if (seen[i].slot.state != ShardSlot::State::running || seen[i].slot.run != now[i].run) continue;
        // A receiver whose sender has died still reports for a while, but no data arrives there.
        if (seen[i].since && seen[i].slot.bytes_done != now[i].bytes_done) return OtherWriter::alive;
        if (!seen[i].since && seen[i].slot.beat != now[i].beat) seen[i] = {now[i], true};
        out = OtherWriter::possible;
    }
    return out;
}

bool JobFile::clear_up(Locked& locked, const std::vector<ShardSlot>& now) {
    const auto cleared = [&](const auto& changed) REQUIRES(mutex_) {
        if (!image_.files.contains(changed.first)) return true;
        if (other_writer(changed.first, now) != OtherWriter::alive) return false;
        locked.add(job_record::FileOpened{changed.first, shard_.index, true});
        return true;
    };
    return std::erase_if(changed_, cleared) > 0;
}

Result<std::vector<JobFile::FilledPart>> JobFile::doubtful(const Version& version, const FileRange& part) {
    std::vector<FilledPart> out;
    for (const auto until = std::chrono::steady_clock::now() + kShardLease;;) {
        {
            Locked locked(*this);
            std::vector<ShardSlot> now;
            int error = locked.error();
            if (error == 0) error = read_slots(now);
            if (error == 0 && clear_up(locked, now)) error = locked.write();
            if (error != 0) return cannot_use(shard_.job, error);
            const std::uint64_t temporary = temporary_for(version.path);
            const JobImage::SharedFile* const file = find(version);
            if (file == nullptr || !changed_.contains(temporary)) return out;
            const bool waits =
                other_writer(temporary, now) == OtherWriter::possible && std::chrono::steady_clock::now() < until;
            if (!waits) {
                for (const auto& [offset, length] : file->filled) {
                    if (offset >= part.offset && offset < part.offset + part.length) continue;
                    out.push_back({{offset, length}, file->pieces_in({offset, length})});
                }
                return out;
            }
        }
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

Result<void> JobFile::judge(const Version& version, const std::vector<std::uint64_t>& bad) {
    Locked locked(*this);
    if (locked.error() != 0) return cannot_use(shard_.job, locked.error());
    const std::uint64_t temporary = temporary_for(version.path);
    const JobImage::SharedFile* const file = find(version);
    if (file == nullptr) return begun_again(version);
    for (const std::uint64_t offset : bad) {
        if (file->filled.contains(offset)) locked.add(job_record::PartVoid{temporary, offset});
    }
    locked.add(job_record::FileOpened{temporary, shard_.index, true});
    changed_.erase(temporary);
    return usable(shard_.job, locked.write());
}

void JobFile::leave(const Version& version, const FileTimes& times) {
    Locked locked(*this);
    const JobImage::SharedFile* const file = locked.error() == 0 ? find(version) : nullptr;
    if (file == nullptr || changed_.contains(temporary_for(version.path))) return;
    locked.add(job_record::FileLeft{temporary_for(version.path), times});
    static_cast<void>(locked.write());  // without it, the next shard reads what others filled
}

Result<bool> JobFile::fill(const Version& version, const FileRange& part, const std::vector<ProvenPiece>& pieces,
                           const FileTimes& times) {
    Locked locked(*this);
    if (locked.error() != 0) return cannot_use(shard_.job, locked.error());
    const std::uint64_t temporary = temporary_for(version.path);
    const JobImage::SharedFile* const file = find(version);
    // This part was on record, and another shard has completed the file since then.
    if (file == nullptr && is_named(version)) return false;
    if (file == nullptr) return begun_again(version);
    for (const ProvenPiece& piece : pieces) locked.add(job_record::PartPiece{temporary, piece});
    locked.add(job_record::PartFilled{temporary, part, times});
    if (const int error = locked.write(); error != 0) return cannot_use(shard_.job, error);
    return file->is_whole();
}

bool JobFile::has_name(const Version& version) {
    const Locked locked(*this);
    return locked.error() == 0 && is_named(version);
}

void JobFile::named(const std::string& path) {
    Locked locked(*this);
    if (locked.error() != 0 || !image_.files.contains(temporary_for(path))) return;
    locked.add(job_record::FileNamed{temporary_for(path)});
    static_cast<void>(locked.write());  // if it fails, a later run reports that the temporary file is missing
}

Result<JobState> JobFile::finish(bool unchanged, std::chrono::milliseconds wait) {
    using State = job_record::ShardState::State;
    const State ended = unchanged && may_find_ && shard_.delivered_run != 0 ? State::found : State::delivered;
    const auto until = std::chrono::steady_clock::now() + wait;
    for (bool told = false;; told = true) {
        {
            Locked locked(*this);
            // Another shard was the last, and has removed the file.
            const bool over = told && image_.all_done() && image_.files.empty();
            if (locked.error() == ENOENT && over) return state_of_image();
            if (locked.error() == ENOENT) return gone(shard_.job);
            if (locked.error() != 0) return cannot_use(shard_.job, locked.error());
            if (!told) locked.add(job_record::ShardState{shard_.index, ended});
            if (const int error = told ? 0 : locked.write(); error != 0) return cannot_use(shard_.job, error);
            if (ended == State::found && !image_.any_delivered()) {
                return JobState{
                    .run = shard_.delivered_run, .index = shard_.index, .count = shard_.count, .done = image_.done()};
            }
            if (!image_.all_done() || image_.files.empty()) return state_of_image();
            if (std::chrono::steady_clock::now() >= until) {
                // It has to run again. Until then no other shard is the last one.
                locked.add(job_record::ShardState{shard_.index, State::begun});
                static_cast<void>(locked.write());
                return missing_in(image_.files.begin()->second);
            }
        }
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

void JobFile::remove() {
    Locked locked(*this);
    if (locked.error() != 0 || !image_.has_head) return;
    const bool over = image_.files.empty() && (image_.all_done() || !(image_.any_delivered() || image_.any_begun()));
    if (!over) return;
    remove_from(root_.fd(), shard_slots_name(shard_.job));
    remove_from(root_.fd(), job_file_name(shard_.job));
}

int JobFile::read_slots(std::vector<ShardSlot>& slots) {
    int error = 0;
    if (!slots_) slots_ = open_own(root_, shard_slots_name(shard_.job), error);
    if (error != 0) slots_.reset();
    if (!slots_) return error;
    std::vector<std::byte> bytes(kSlotBytes * shard_.count);
    std::size_t count = 0;
    error = read_all_at(slots_.get(), bytes, 0, count);
    slots.assign(shard_.count, {});
    for (std::size_t i = 0; i < shard_.count; ++i) {
        FieldReader in(std::span<const std::byte>(bytes).subspan(kSlotBytes * i, kSlotBytes));
        ShardSlot::fields(in, slots[i]);
        slots[i].state = std::min(slots[i].state, ShardSlot::State::failed);
    }
    return error;
}

Result<void> JobFile::exchange(const std::function<void(std::vector<ShardSlot>&)>& change) {
    Locked locked(*this);
    std::vector<ShardSlot> slots;
    int error = locked.error();
    if (error == 0) error = read_slots(slots);
    if (slots.empty()) return cannot_use(shard_.job, error);
    if (error == 0 && clear_up(locked, slots)) error = locked.write();
    change(slots);
    std::array<std::byte, kSlotBytes> own{};
    wire::Writer bytes(own);
    FieldWriter out(bytes);
    ShardSlot::fields(out, slots[shard_.index]);
    if (error == 0) error = write_all_at(slots_.get(), own, kSlotBytes * shard_.index);
    return usable(shard_.job, error);
}

}  // namespace udtx::transfer
