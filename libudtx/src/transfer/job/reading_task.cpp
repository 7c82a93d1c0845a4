#include "transfer/job/reading_task.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "transfer/close_codes.hpp"
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

Result<void> Replies::take(const Message& message) {
    if (const auto* failed = std::get_if<message::FileFailed>(&message)) return on_failure(*failed);
    if (const auto* confirm = std::get_if<message::Confirm>(&message)) return on_confirm(*confirm);
    if (const auto* erased = std::get_if<message::Erased>(&message)) return on_erased(*erased);
    if (const auto* job = std::get_if<message::Job>(&message)) return on_job(*job);
    if (const auto* answer = std::get_if<message::Answer>(&message)) {
        damaged_ += answer->damaged;
        return reading_.answers().add(*answer);
    }
    if (const auto* accept = std::get_if<message::Accept>(&message)) {
        if (accept->version == kTransferVersion) return {};
        return broken("the receiver speaks another version of the transfer protocol");
    }
    if (const auto* delivered = std::get_if<message::Delivered>(&message)) {
        note(delivered->totals);
        report_.peer_worked();
    } else if (const auto* stopped = std::get_if<message::Stopped>(&message)) {
        on_stopped(*stopped);
    } else if (const auto* resume = std::get_if<message::Resume>(&message)) {
        on_resume(*resume);
    } else if (const auto* load = std::get_if<message::Load>(&message)) {
        report_.edit([&](Progress& progress, Outcome&) {
            progress.receiver = {static_cast<double>(load->disk) / 1e3, static_cast<double>(load->cpu) / 1e3};
        });
    } else if (const auto* note = std::get_if<message::Note>(&message)) {
        report_.warn("receiver: " + escape_line(note->text));
    } else if (const auto* unset = std::get_if<message::Unset>(&message)) {
        report_.lacks(unset->entries);
    } else {
        return broken("the receiver sent a sender's message");
    }
    return {};
}

Result<void> Replies::on_failure(const message::FileFailed& m) {
    ++failures_;
    if (options_.receipt != nullptr) options_.receipt->note(m);
    // A late failure, from the committer, does not concern the file that is being read.
    if (m.index != kNoEntry && m.index >= latest_failure_) {
        latest_failure_ = m.index;
        reading_.skip(m.index);
    }
    report_.fail({m.path, error_code_for(m.code), "receiver: " + m.reason});
    return {};
}

void Replies::note(const message::Totals& totals) {
    report_.edit([&](Progress& progress, Outcome& outcome) {
        outcome.erased = totals.erased;
        if (options_.dry_run) return;
        progress.files_done = totals.files_done;
        progress.bytes_done = totals.written_bytes;
        const bool all = totals.files_done + totals.failures >= progress.files_total;
        if (progress.phase == Phase::flush && all) progress.phase = Phase::verify;
        outcome.files = totals.files;
        outcome.directories = totals.directories;
        outcome.links = totals.links;
        outcome.bytes = totals.bytes;
        outcome.sent_bytes = totals.written_bytes;
        outcome.unchanged = totals.unchanged;
        outcome.unchanged_directories = totals.unchanged_directories;
        outcome.skipped = totals.skipped;
    });
}

Result<void> Replies::check_counts(const message::Totals& totals) const {
    if (totals.erased > 0 && !options_.erase) return broken("the receiver deleted something without a request");
    if (options_.dry_run) return {};
    const bool all_well = totals.failures == 0 && sent_->unsent == 0 && report_.outcome().failed_count == 0;
    if (!reading_.stream()) return check_tree(totals, all_well);
    const bool whole = totals.files == 1 && totals.bytes == sent_->data_bytes;
    return all_well && !whole ? broken("the receiver confirmed another size than that of the stream") : Result<void>();
}

Result<void> Replies::check_tree(const message::Totals& totals, bool all_well) const {
    const std::uint64_t files = report_.progress().files_total;
    const std::uint64_t others = reading_.others();
    if (totals.files_done > files || totals.files > files) {
        return broken("the receiver confirmed more files than were sent");
    }
    if (totals.directories > others || totals.links > others - totals.directories) {
        return broken("the receiver confirmed more directories and links than were sent");
    }
    if (!all_well) return {};
    if (totals.files_done < files) return broken("the receiver confirmed fewer files than were sent");
    // Each entry was delivered, was unchanged, or was skipped.
    const auto at_most_all = [&](std::uint64_t count) { return std::min(count, files + others); };
    const std::uint64_t settled =
        at_most_all(totals.unchanged) + at_most_all(totals.unchanged_directories) + at_most_all(totals.skipped);
    if (totals.files + totals.directories + totals.links + settled < files + others) {
        return broken("the receiver confirmed fewer entries than were sent");
    }
    return {};
}

Result<void> Replies::on_confirm(const message::Confirm& m) {
    if (!sent_) return broken("the receiver confirmed before everything was sent");
    if (auto checked = check_counts(m.totals); !checked) return checked;
    note(m.totals);
    confirmed_ = true;
    report_.edit([&](Progress& progress, Outcome& outcome) {
        outcome.exact = true;
        if (m.totals.failures == 0) progress.bytes_done = progress.bytes_total = m.totals.written_bytes;
    });
    warn_of(m.totals);
    const Outcome outcome = report_.outcome();
    if (m.totals.failures == 0 && failures_ == 0 && m.root != sent_->root) {
        last_word_ = Error{ErrorCode::integrity,
                           "the receiver's root digest " + m.root.hex() + " differs from ours, " + sent_->root.hex()};
    } else if (m.totals.failures != 0 && outcome.failed_count == 0) {
        last_word_ = broken("the receiver counts failures that it did not report");
    } else {
        last_word_ = status_from_failures(outcome);
    }
    return {};
}

void Replies::warn_of(const message::Totals& totals) {
    if (damaged_ > 0) {
        report_.warn("receiver: " + std::to_string(damaged_) +
                     (damaged_ == 1 ? " piece of the earlier run was damaged on disk and was sent again"
                                    : " pieces of the earlier run were damaged on disk and were sent again"));
    }
    // The receiver reports the number of deletions; without errors, zero needs no explanation.
    const bool errors = totals.failures != 0 || sent_->unsent != 0;
    // The receiver reports a deletion that it refuses as a failure of the destination itself.
    const auto failed = report_.outcome().failed;
    const bool refused = failed.size() == 1 && failed.front().path == ".";
    if (options_.erase && errors && !refused && totals.erased == 0) {
        report_.warn("the receiver deleted nothing, because of errors");
    }
}

void Replies::on_stopped(const message::Stopped& m) {
    note(m.totals);
    report_.edit([](Progress&, Outcome& outcome) { outcome.exact = true; });
    last_word_ = Error{error_code_for(m.code), "receiver: " + escape_line(m.reason)};
}

void Replies::on_resume(const message::Resume& m) {
    if (!m.note.empty()) report_.warn("receiver: " + escape_line(m.note));
    report_.edit([&](Progress&, Outcome& outcome) { outcome.continues = m.keeps; });
    reading_.answers().decide(m);
}

Result<void> Replies::on_job(const message::Job& m) {
    if (!options_.shard || m.done > options_.shard->count) return broken("the state of a job that does not exist");
    if (options_.receipt != nullptr) options_.receipt->note(m);
    const JobShard& shard = *options_.shard;
    const JobState state{m.run, shard.index, shard.count, static_cast<std::size_t>(m.done), m.waiting};
    report_.edit([&](Progress&, Outcome& outcome) { outcome.job = state; });
    return {};
}

Result<void> Replies::on_erased(const message::Erased& m) {
    if (!options_.erase) return broken("the receiver deleted something without a request");
    for (const std::string& path : m.paths) {
        if (options_.planned) options_.planned(erased_entry(path));
    }
    return {};
}

}  // namespace udtx::transfer
