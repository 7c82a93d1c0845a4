#include "transfer/job/reading_task.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "transfer/job/pull_request.hpp"
#include "transfer/job/send_job.hpp"

namespace udtx::transfer {

namespace {

bool brings_contents(const SourceRoot& root) { return root.leaf.empty(); }

/// The rules for what --delete must keep.
std::vector<message::Rules> erase_rules(const SendJobOptions& options, const std::vector<SourceRoot>& roots) {
    if (!options.erase) return {};
    return rule_messages(options.rules, std::ranges::any_of(roots, brings_contents));
}

}  // namespace

ReadingTask::ReadingTask(std::vector<SourceRoot> roots, bool stream, SendJobOptions& options, LateWaker& waker,
                         JobReport& report)
    : roots_(std::move(roots)), stream_(stream), options_(options), waker_(waker), report_(report) {}

ReadingTask::~ReadingTask() {
    stop();
    if (scan_task_) scan_task_->end();
    if (read_task_) read_task_->end();
}

bool ReadingTask::at_rest() const noexcept {
    return (!scan_task_ || scan_task_->over()) && (!read_task_ || read_task_->over());
}

UniqueFd ReadingTask::open_source(const std::string& path) const {
    int error = ENOENT;
    for (const SourceRoot& root : roots_) {
        if (!root.leaf.empty() && path != root.leaf && !path.starts_with(root.leaf + "/")) continue;
        UniqueFd fd = root.directory.open_at(path, O_RDONLY, 0, error);
        if (fd) return fd;
    }
    errno = error;
    return {};
}

std::string ReadingTask::place_of(const std::string& path, std::optional<std::size_t> source) const {
    if (source || roots_.size() == 1) return roots_[source.value_or(0)].place;
    const auto named = [&](const SourceRoot& root) {
        return !root.leaf.empty() && (path == root.leaf || path.starts_with(root.leaf + "/"));
    };
    auto found = std::ranges::find_if(roots_, named);
    if (found == roots_.end() && std::ranges::count_if(roots_, brings_contents) == 1) {
        found = std::ranges::find_if(roots_, brings_contents);
    }
    return found == roots_.end() ? std::string() : found->place;
}

void ReadingTask::start(bool far) {
    if (stream_) return read_pipe();
    read_tree(far);
}

void ReadingTask::read_pipe() {
    pipe_.emplace(options_.stream_fd, roots_.empty() ? "-" : roots_.front().leaf, options_.hash, outgoing_, waker_,
                  report_);
    make_task(read_task_, [this] { return pipe_->step(); });
    outgoing_.call(nullptr, [this] { read_task_->wake(); });
    read_task_->wake();
}

void ReadingTask::read_tree(bool far) {
    if (options_.sent != nullptr) options_.sent->begin_connection();
    ReadOptions read;
    read.planned = options_.planned;
    read.erase_rules = erase_rules(options_, roots_);
    read.announce_all = options_.receipt != nullptr && !options_.dry_run;
    read.sent = options_.sent;
    read.tops = options_.preserve && !options_.dry_run && !options_.names;
    read.asked_for = options_.asked_for;
    read.far = far;
    // Moves the lists: they may be long, and only the scanner needs them. The part is copied, since the reader needs
    // its paths too.
    const std::optional<PathRange> part = options_.part;
    ScanOptions scan{std::move(static_cast<Selection&>(options_)), options_.only_finished, options_.preserve};
    static_cast<Selection&>(read) = options_;
    read.part = part;
    scanner_.emplace(roots_, scanned_, report_, std::move(scan));
    reader_.emplace(roots_, std::move(read), scanned_, outgoing_, waker_, report_, answers_);
    reader_->copy_to(options_.receipt);
    make_task(scan_task_, [this] { return scanner_->step(); });
    make_task(read_task_, [this] { return reader_->step(); });
    const auto wake = [this] { read_task_->wake(); };
    scanned_.call(wake, [this] { scan_task_->wake(); });
    outgoing_.call(nullptr, wake);
    answers_.call(wake);
    scan_task_->wake();
    read_task_->wake();
}

void ReadingTask::make_task(std::optional<DiskTask>& task, DiskTask::Work work) {
    const auto step = [this, work = std::move(work)] {
        if (trouble()) {
            waker_.wake();
            return DiskStep::over();
        }
        const DiskStep next = work();
        if (next.then == DiskStep::Then::again && report_.worked()) waker_.wake();
        return next;
    };
    const auto failed = [this](Error error) {
        const std::lock_guard lock(trouble_mutex_);
        if (trouble_) return DiskStep::rest_for(std::chrono::milliseconds(50));  // then the task tries to report again
        trouble_ = std::move(error);
        return DiskStep::again();
    };
    task.emplace(disk_pools().work, step, failed);
}

std::optional<Error> ReadingTask::trouble() const {
    const std::lock_guard lock(trouble_mutex_);
    return trouble_;
}

void ReadingTask::stop() {
    scanned_.cancel();
    outgoing_.end();
    answers_.cancel();
    if (pipe_) pipe_->stop();
}

void ReadingTask::skip(std::uint64_t index) {
    if (reader_) reader_->skip(index);
}

}  // namespace udtx::transfer
