#include "connect/job_record.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "common/exit_codes.hpp"
#include "common/text.hpp"
#include "connect/state_directory.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::apps {
namespace {

// All shards can begin and end a hundred times before the job is complete.
constexpr std::uint64_t kMostBytes = 64U << 20U;

std::string job_directory() {
    const std::string state = state_directory();
    return state.empty() ? std::string() : state + "/jobs";
}

/// Two trees of one name are two jobs. The number of the file is the same on all hosts that share a disk.
std::string identity_of(const std::string& source) {
    std::error_code ignored;
    struct stat st {};
    const bool there = ::stat(source.c_str(), &st) == 0;
    return std::filesystem::weakly_canonical(source, ignored).string() + '\n' +
           (there ? to_hex(std::uint64_t{st.st_ino}) : "") + '\n';
}

std::string list_of(const std::vector<std::size_t>& shards) {
    std::string out;
    for (std::size_t i = 0; i < shards.size() && i < 10; ++i) out += (i == 0 ? "" : ", ") + std::to_string(shards[i]);
    return shards.size() > 10 ? out + " and " + std::to_string(shards.size() - 10) + " more" : out;
}

/// While it exists, no other process reads or writes the record.
class Lock {
  public:
    explicit Lock(int fd) : fd_(fd), held_(again([fd] { return ::flock(fd, LOCK_EX); }) == 0) {}
    ~Lock() {
        if (held_) ::flock(fd_, LOCK_UN);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    [[nodiscard]] bool held() const noexcept { return held_; }

  private:
    int fd_;
    bool held_;
};

}  // namespace

JobRecord::JobRecord(std::string path, const transfer::JobShard& shard, bool has_receipt)
    : path_(std::move(path)), shard_(shard), has_receipt_(has_receipt) {}

Error JobRecord::cannot(const char* what, int error) const {
    return {ErrorCode::file_io,
            std::string("cannot ") + what + " the record of this job, '" + path_ +
                "': " + std::generic_category().message(error) +
                ": set XDG_STATE_HOME to a directory that all shards share, or give each a --receipt "
                "and merge the receipts",
            error};
}

Result<JobRecord> JobRecord::open(const Job& job, const transfer::JobShard& shard, bool has_receipt) {
    const std::string directory = job_directory();
    std::string all = job.name + '\n';
    for (const std::string& source : job.sources) all += identity_of(source);
    const std::uint64_t key = transfer::job_number(all, shard.count, job.place);
    JobRecord record((directory.empty() ? "$XDG_STATE_HOME/udtx/jobs" : directory) + '/' + to_hex(key), shard,
                     has_receipt);
    std::error_code failed =
        directory.empty() ? std::make_error_code(std::errc::no_such_file_or_directory) : std::error_code();
    if (!failed) std::filesystem::create_directories(directory, failed);
    if (!failed) {
        record.file_.reset(open_file(record.path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
        struct stat st {};
        if (!record.file_ || ::fstat(record.file_.get(), &st) != 0) {
            failed = {errno, std::generic_category()};
        } else if (!S_ISREG(st.st_mode) || st.st_uid != ::geteuid() || st.st_nlink != 1) {
            failed = {EPERM, std::generic_category()};
        }
    }
    if (failed && !has_receipt) return record.cannot("make", failed.value());
    if (failed) {
        record.file_.reset();
        return record;
    }
    const auto begun = record.begin();
    if (!begun && !has_receipt) return begun.error();
    if (!begun) record.file_.reset();
    return record;
}

Result<JobRecord::Known> JobRecord::read() {
    struct stat st {};
    if (::fstat(file_.get(), &st) != 0) return cannot("read", errno);
    if (static_cast<std::uint64_t>(st.st_size) > kMostBytes) return cannot("read", EFBIG);
    std::string text(static_cast<std::size_t>(st.st_size), '\0');
    std::size_t count = 0;
    for (ssize_t got = 1; got > 0 && count < text.size(); count += static_cast<std::size_t>(got)) {
        got = again(
            [&] { return ::pread(file_.get(), text.data() + count, text.size() - count, static_cast<off_t>(count)); });
        if (got < 0) return cannot("read", errno);
    }
    text.resize(count);
    Known known;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string who, run, cut;
        words >> who >> run >> cut;
        const auto number = parse_number<std::uint64_t>(run, 16);
        const auto how = parse_number<std::uint64_t>(cut, 16);
        const auto shard = parse_number<std::size_t>(who);
        if (!number || !how) continue;
        if (who == "complete") known = {{}, {*number, *how}};
        if (shard && *shard < shard_.count) known.ends[*shard] = {*number, *how};
    }
    return known;
}

Result<void> JobRecord::note(std::uint64_t run) {
    // The line of a process that was killed may be torn.
    return write('\n' + std::to_string(shard_.index) + ' ' + to_hex(run) + ' ' + to_hex(cut()) + '\n', false);
}

Result<void> JobRecord::write(const std::string& text, bool replace) {
    if (replace && ::ftruncate(file_.get(), 0) != 0) return cannot("write", errno);
    if (::lseek(file_.get(), 0, SEEK_END) < 0) return cannot("write", errno);
    const ssize_t written = again([&] { return ::write(file_.get(), text.data(), text.size()); });
    if (written != static_cast<ssize_t>(text.size())) return cannot("write", written < 0 ? errno : ENOSPC);
    return {};
}

void JobRecord::describe(transfer::JobShard& shard) const {
    shard.run = met_;
    shard.delivered_run = shard_.delivered_run;
}

Result<void> JobRecord::begin() {
    const Lock lock(file_.get());
    if (!lock.held()) return cannot("lock", errno);
    const auto known = read();
    if (!known) return known.error();
    const auto end = known->ends.find(shard_.index);
    const End& last = end != known->ends.end() ? end->second : known->complete;
    shard_.delivered_run = last.cut == cut() ? last.run : 0;
    return note(0);
}

void JobRecord::judge(FinalReport& report) {
    auto& job = report.outcome.job;
    if (job) met_ = job->run;
    if (report.code != ExitCode::ok) return;
    Result<void> judged;
    if (job && file_) {
        judged = judge(*job);
        if (!judged && judged.error().code == ErrorCode::file_io && has_receipt_) judged = {};
    } else if (!job && !has_receipt_) {
        judged = Error{ErrorCode::refused,
                       "everything is delivered, but the receiver records no job, so that nobody can tell whether all "
                       "shards delivered to one directory: give each shard a --receipt, or let the receiver resume"};
    }
    if (judged) return;
    report.outcome.status = judged;
    report.code = exit_code_for(judged.error().code);
    report.error = judged.error().message;
}

Result<void> JobRecord::judge(transfer::JobState& job) {
    // Shards that run again may begin later than this one ends.
    constexpr auto kWait = std::chrono::seconds(3);
    constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
    const auto until = std::chrono::steady_clock::now() + kWait;
    for (;;) {
        auto judged = judge_once(job);
        const bool waits = !judged && judged.error().code == ErrorCode::refused;
        if (!waits || std::chrono::steady_clock::now() >= until) return judged;
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

Result<void> JobRecord::judge_once(transfer::JobState& job) {
    const Lock lock(file_.get());
    if (!lock.held()) return cannot("lock", errno);
    auto known = read();
    if (!known) return known.error();
    // It finds what it delivered when the job was complete, and not what another shard has just completed.
    const bool found = job.run == known->complete.run && job.run == shard_.delivered_run;
    // Another shard was the last one of this run, and has said so while this one ended.
    if (!found && job.run == known->complete.run) return {};
    if (found) job.done = job.count;
    known->ends[shard_.index] = {job.run, cut()};
    std::erase_if(known->ends, [](const auto& shard) { return shard.second.run == 0; });
    std::vector<std::size_t> elsewhere;
    for (const auto& [index, end] : known->ends) {
        if (end.run != job.run) elsewhere.push_back(index);
    }
    const bool all = known->ends.size() == shard_.count && elsewhere.empty();
    if ((job.complete() && !found) || (all && found)) {
        return write("complete " + to_hex(job.run) + ' ' + to_hex(cut()) + '\n', true);
    }
    if (known->ends.size() < shard_.count) return note(job.run);
    if (!elsewhere.empty()) {
        return Error{ErrorCode::refused, "all shards of this job have ended, but shard" +
                                             std::string(elsewhere.size() == 1 ? " " : "s ") + list_of(elsewhere) +
                                             " delivered to another directory, or to one that was removed: run all "
                                             "shards again with one destination"};
    }
    if (job.done == job.count) return note(job.run);
    return Error{ErrorCode::refused, "all shards of this job have ended, but its receiver knows of only " +
                                         std::to_string(job.done) + " of " + std::to_string(job.count) +
                                         ": the destination went back to an earlier state, or is a copy of another "
                                         "one. Run all shards again with one destination"};
}

}  // namespace udtx::apps
