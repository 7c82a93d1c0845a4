#include "transfer/job/send_job.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transfer/close_codes.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_rate.hpp"

namespace udtx::transfer {

namespace {

constexpr Duration kFoundInterval = std::chrono::milliseconds(200);
constexpr Duration kPathsInterval = std::chrono::milliseconds(200);
/// Once all is written: the last report that arrives stands in the receiver's summary.
constexpr Duration kLastPathsInterval = std::chrono::milliseconds(50);
/// More removed paths than this are not reported.
constexpr std::size_t kMaxPathsTold = 64;
/// Up to this round-trip time the sender waits for answers, so that it sends no file needlessly.
constexpr Duration kNear = std::chrono::milliseconds(20);

bool is_far(const proto::Connection& connection) {
    const ConnectionStats stats = connection.stats();
    return !stats.paths.empty() && stats.paths.front().smoothed_rtt > kNear;
}

message::Offer offer_of(const SendOptions& options, std::uint64_t transfer, bool stream) {
    const Selection& what = options.what;
    message::Offer out{.mode = stream ? TransferMode::stream : TransferMode::tree,
                       .preserve = what.preserve,
                       .hash = what.hash,
                       .destination = split_path(options.destination),
                       .overwrite = what.overwrite,
                       .owner = what.owner,
                       .sparse = what.sparse,
                       .dry_run = what.dry_run,
                       .erase = what.erase,
                       .by_digest = what.by_digest,
                       .set_id = what.set_id};
    if (stream || what.dry_run) return out;
    out.transfer = transfer;
    out.shard = what.shard;
    return out;
}

bool brings_contents(const SourceRoot& root) { return root.leaf.empty(); }

/// True if the path is that of a source with a name of its own, or below it.
bool is_named_by(const SourceRoot& root, const std::string& path) {
    return !brings_contents(root) && (path == root.leaf || path.starts_with(root.leaf + "/"));
}

constexpr std::size_t kProbeBlockBytes = 256U << 10U;
/// The congestion controllers finish their start phase within this many round trips.
constexpr int kRoundTrips = 20;
constexpr Duration kLongestProbe = std::chrono::seconds(15);

Chunk zeros(std::size_t bytes) {
    std::shared_ptr<std::byte[]> memory(new std::byte[bytes]());
    return Chunk(std::move(memory), bytes);
}

}  // namespace

ReadingTask::ReadingTask(std::vector<SourceRoot> roots, bool stream, const SendOptions& options, const SendRun& run,
                         LateWaker& waker, JobReport& report)
    : roots_(std::move(roots)), stream_(stream), options_(options), run_(run), waker_(waker), report_(report) {}

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
        if (!brings_contents(root) && !is_named_by(root, path)) continue;
        OpenedFd opened = root.directory.open_at(path, O_RDONLY);
        if (opened.fd) return std::move(opened.fd);
        error = opened.error;
    }
    errno = error;
    return {};
}

std::string ReadingTask::place_of(const std::string& path, std::optional<std::size_t> source) const {
    if (source || roots_.size() == 1) return roots_[source.value_or(0)].place;
    auto found = std::ranges::find_if(roots_, [&](const SourceRoot& root) { return is_named_by(root, path); });
    if (found == roots_.end() && std::ranges::count_if(roots_, brings_contents) == 1) {
        found = std::ranges::find_if(roots_, brings_contents);
    }
    return found == roots_.end() ? std::string() : found->place;
}

void ReadingTask::start(bool far) {
    if (reader_) return;
    if (stream_) {
        reader_ = read_pipe(options_.stream_fd, roots_.empty() ? "-" : roots_.front().leaf, options_.what.hash,
                            outgoing_, waker_, report_);
    } else {
        scan_tree(far);
    }
    make_task(read_task_, [this] { return reader_->step(); });
    const auto wake = [this] { read_task_->wake(); };
    outgoing_.call(nullptr, wake);
    answers_.call(wake);
    if (scan_task_) scan_task_->wake();
    read_task_->wake();
}

void ReadingTask::scan_tree(bool far) {
    if (SentNames* sent = sent_names(options_)) sent->begin_connection();
    scanner_.emplace(roots_, scanned_, report_, options_.what, run_.unfinished);
    reader_ = read_tree(roots_, options_, {.asked_for = run_.found.has_value(), .far = far}, scanned_, outgoing_,
                        waker_, report_, answers_);
    make_task(scan_task_, [this] { return scanner_->step(); });
    scanned_.call([this] { read_task_->wake(); }, [this] { scan_task_->wake(); });
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
        const Lock lock(trouble_mutex_);
        if (trouble_) return DiskStep::rest_for(std::chrono::milliseconds(50));  // then the task tries to report again
        trouble_ = std::move(error);
        return DiskStep::again();
    };
    task.emplace(disk_pools().work, step, failed);
}

std::optional<Error> ReadingTask::trouble() const {
    const Lock lock(trouble_mutex_);
    return trouble_;
}

void ReadingTask::stop() {
    scanned_.cancel();
    outgoing_.end();
    answers_.cancel();
    if (reader_) reader_->stop();
}

Result<std::unique_ptr<SendJob>> SendJob::create(SendOptions options, SendRun run, DoneCallback done) {
    const std::vector<std::string> destination = split_path(options.destination);
    if (!destination.empty()) {
        if (auto checked = check_path(destination); !checked) return checked.error();
    }
    std::vector<SourceRoot> roots;
    const bool stream = is_stream(options.what);
    if (!stream) {
        // A list of names is relative to the contents of the source.
        auto opened = open_sources(options.what.sources, options.what.names.has_value());
        if (!opened) return opened.error();
        roots = std::move(opened).value();
    }
    return std::unique_ptr<SendJob>(
        new SendJob(std::move(options), std::move(run), std::move(roots), stream, std::move(done)));
}

void SendRun::set_found(SourceShape shape, std::vector<FailedFile> unreadable) {
    missing = std::move(unreadable);
    found = message::Sources{.shape = shape, .missing = {}};
    for (const FailedFile& file : missing) found->missing.push_back({.path = file.path, .reason = file.reason});
}

std::unique_ptr<SendJob> SendJob::create_for_pull(PullWish wish, ConfinedSources sources, FileCallback on_file,
                                                  DoneCallback done) {
    SendRun run{.transfer = wish.transfer, .unfinished = Scanner::Unfinished::silent, .on_file = std::move(on_file)};
    run.set_found(sources.shape, std::move(sources.missing));
    auto job = std::unique_ptr<SendJob>(new SendJob({.what = std::move(wish.what), .stream_fd = sources.stream.get()},
                                                    std::move(run), std::move(sources.roots),
                                                    static_cast<bool>(sources.stream), std::move(done)));
    job->stream_file_ = std::move(sources.stream);
    return job;
}

SendJob::SendJob(SendOptions options, SendRun run, std::vector<SourceRoot> roots, bool stream, DoneCallback done)
    : options_(std::move(options)),
      run_(std::move(run)),
      done_(std::move(done)),
      reading_(std::move(roots), stream, options_, run_, waker_, report_),
      confirmation_(options_, reading_, report_) {
    if (!options_.what.dry_run) report_.tell_files(run_.on_file, FileEvent::Direction::send);
}

SendJob::~SendJob() { waker_.set(nullptr); }

void SendJob::start(Instant now, proto::Connection& connection) {
    if (life_ != JobStage::opening) return;
    if (!run_.found && !control_) {
        auto opened = connection.open_stream(StreamKind::ordered);
        if (!opened) return end(now, connection, opened.error());
        control_ = *opened;
    }
    if (!control_) return;  // the peer connected: its control stream appears with its first message
    const bool stream = reading_.stream();
    auto data = connection.open_stream(stream ? StreamKind::ordered : StreamKind::unordered);
    if (!data) return end(now, connection, data.error());
    data_ = *data;
    const message::Offer offer = offer_of(options_, run_.transfer, stream);
    if (offer.shard && offer.shard->bits_per_second > 0) {
        connection.set_group_rate(Rate::bits_per_second(static_cast<double>(least_share(*offer.shard))));
    }
    if (ReceiptWriter* receipt = writer_of(options_.receipt)) receipt->note(offer);
    MessageWriter out;
    if (run_.found) out.put(*run_.found);
    out.put(offer);
    if (!say(now, connection, out)) return;
    life_.enter(JobStage::running);
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::transfer;
        outcome.dry_run = options_.what.dry_run;
    });
    note_missing();  // their names are whole
    report_.set_place(
        [this](const std::string& path, std::optional<std::size_t> from) { return reading_.place_of(path, from); });
    if (options_.fresh) presume_fresh();
    // A pipe can be read only once: not before the receiver has taken the transfer, which it may turn away.
    if (!stream || run_.found) start_reading(connection);
    pump(now, connection);
}

void SendJob::start_reading(const proto::Connection& connection) {
    if (reading_.stream()) report_.edit([](Progress& progress, Outcome&) { progress.files_total = 1; });
    reading_.start(is_far(connection));
}

// In a push the caller counts them. In a pull this end has its own report, and SOURCES has told the receiver.
void SendJob::note_missing() {
    for (const FailedFile& file : options_.missing) {
        report_.omit("'" + escape_name(file.path) + "': " + file.reason);
    }
    for (const FailedFile& missing : run_.missing) report_.fail(missing);
}

void SendJob::presume_fresh() {
    // A dry run needs the questions: the receiver makes its plan from them.
    if (!options_.what.dry_run) reading_.answers().presume_nothing();
}

void SendJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        start(now, connection);
    } else if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        if (!control_ && opened->id == StreamId::make(0, StreamKind::ordered, Role::client)) {
            control_ = opened->id;
            start(now, connection);
            // Part of the stream may have been read before this job got it.
            if (life_ != JobStage::ended) read_control(now, connection);
        } else if (!control_ || opened->id != *control_) {
            // Nobody would read it, and its data would stay in memory.
            end(now, connection, broken("the receiver opened a second stream"));
        }
    } else if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        if (control_ && readable->id == *control_) read_control(now, connection);
    } else if (std::holds_alternative<proto::event::Writable>(event)) {
        pump(now, connection);
    } else if (const auto* delivered = std::get_if<proto::event::StreamDelivered>(&event)) {
        if (data_ && delivered->id == *data_ && life_ != JobStage::ended) {
            tell_paths(now, connection, true);
            report_.edit([](Progress& progress, Outcome&) { progress.phase = Phase::flush; });
        }
    } else if (std::holds_alternative<proto::event::StreamStopped>(event)) {
        end(now, connection, broken("the receiver stopped a stream"));
    } else if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        on_closed(closed->reason);
    }
}

void SendJob::pump(Instant now, proto::Connection& connection) {
    if (life_ != JobStage::running) return;
    tell_found(now, connection);
    tell_paths(now, connection, false);
    std::uint64_t sent = 0;
    while (life_ == JobStage::running) {
        if (!held_) held_ = reading_.next();
        if (!held_) break;
        if (connection.write_capacity(*control_) == 0) break;
        if (!held_->data.empty() && connection.write_capacity(*data_) == 0) break;
        Outgoing item = std::move(*held_);
        held_.reset();
        sent += item.data.size();
        Result<void> written;
        if (!item.control.empty()) written = connection.write(*control_, Chunk::copy_of(item.control));
        if (written && !item.data.empty()) written = connection.write(*data_, std::move(item.data));
        if (written && item.finish) {
            tell_paths(now, connection, true);
            if (life_ != JobStage::running) return;
            confirmation_.expect_confirmation(*item.finish);
            life_.enter(JobStage::confirming);
            written = connection.finish(*data_);
        }
        if (!written) return end(now, connection, written.error());
    }
    if (life_ == JobStage::ended) return;
    queued_bytes_ += sent;
    if (reading_.stream() && report_.outcome().failed_count > 0) {
        const FailedFile pipe = report_.outcome().failed.front();
        return end(now, connection, Error{ErrorCode::file_io, pipe.reason, pipe.system_error});
    }
    report_.edit([&](Progress& progress, Outcome&) {
        progress.bytes_sent = queued_bytes_;
        if (confirmation_.all_sent()) progress.totals_final = true;
    });
}

void SendJob::read_control(Instant now, proto::Connection& connection) {
    std::array<std::byte, 16384> block{};
    for (;;) {
        const auto got = connection.read(*control_, block);
        incoming_.feed(std::span(block).first(got.bytes));
        for (;;) {
            auto next = incoming_.next();
            if (!next) return end(now, connection, next.error());
            if (!next->has_value()) break;
            if (auto taken = take(connection, **next); !taken) return end(now, connection, taken.error());
            if (const auto& word = confirmation_.last_word()) {
                const bool stopped = life_ == JobStage::stopping && !confirmation_.confirmed();
                return end(now, connection, stopped ? *stopped_for_ : *word);
            }
        }
        if (got.end) return end(now, connection, broken("the receiver ended the control stream"));
        if (got.bytes == 0) break;
    }
    // Reports here too: while there is nothing to send, only incoming messages trigger it.
    tell_found(now, connection);
    tell_paths(now, connection, false);
}

void SendJob::tell_paths(Instant now, proto::Connection& connection, bool at_once) {
    const bool flows = life_ == JobStage::running || life_ == JobStage::confirming;
    if (!flows || (now < next_paths_ && !at_once)) return;
    if (connection.write_capacity(*control_) == 0) return;
    next_paths_ = now + report_pace(connection, confirmation_.all_sent() ? kLastPathsInterval : kPathsInterval);
    MessageWriter out;
    out.put(message::Paths{look_at_paths(connection)});
    say(now, connection, out);
}

std::vector<SenderPath> SendJob::look_at_paths(const proto::Connection& connection) {
    std::vector<SenderPath> paths;
    for (const PathStats& path : connection.stats().paths) {
        if (paths.size() == kMaxPathsTold) break;
        paths.push_back({.id = path.id,
                         .sent_packets = path.sent_packets,
                         .lost_packets = path.lost_packets,
                         .retransmitted_packets = path.retransmitted_packets,
                         .mtr = path.congestion.mtr,
                         .datagram_bytes = path.datagram_bytes});
    }
    report_.edit([&](Progress& progress, Outcome&) { progress.sender = paths; });
    return paths;
}

void SendJob::tell_found(Instant now, proto::Connection& connection) {
    if (life_ != JobStage::running) return;
    // Data shows by itself that this end works.
    if (std::exchange(shown_bytes_, queued_bytes_) != queued_bytes_) next_step_ = now + kStepInterval;
    const bool works = now >= next_step_ && report_.steps() != told_steps_;
    if ((told_.final && now < next_found_ && !works) || connection.write_capacity(*control_) == 0) return;
    message::Found found = told_;
    if (!reading_.stream() && !options_.what.dry_run) {
        const Progress progress = report_.progress();
        found = {progress.files_total, progress.bytes_total, progress.totals_final};
    }
    // The final totals are sent at once.
    const bool is_news = found != told_ && (now >= next_found_ || found.final != told_.final);
    if (!is_news && !works) return;
    next_found_ = now + report_pace(connection, kFoundInterval);
    next_step_ = now + kStepInterval;
    told_steps_ = report_.steps();
    told_ = found;
    MessageWriter out;
    out.put(found);
    say(now, connection, out);
}

bool SendJob::say(Instant now, proto::Connection& connection, const MessageWriter& messages) {
    const auto written = connection.write(*control_, Chunk::copy_of(messages.bytes()));
    if (!written) end(now, connection, written.error());
    return written.ok();
}

Result<void> SendJob::take(proto::Connection& connection, const Message& message) {
    if (const auto* share = std::get_if<message::Share>(&message)) {
        if (!options_.what.shard || options_.what.shard->bits_per_second == 0)
            return broken("a share of a rate that does not exist");
        connection.set_group_rate(Rate::bits_per_second(static_cast<double>(share->bits_per_second)));
        return {};
    }
    const auto* cap = std::get_if<message::Cap>(&message);
    if (cap == nullptr) {
        const auto taken = confirmation_.take(message);
        if (taken && life_ == JobStage::running && std::holds_alternative<message::Accept>(message))
            start_reading(connection);
        return taken;
    }
    connection.set_peer_rate(cap->bits_per_second == 0
                                 ? Rate::infinite()
                                 : Rate::bits_per_second(static_cast<double>(cap->bits_per_second)));
    return {};
}

void SendJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    const Error cause{code, reason};
    if (life_ == JobStage::stopping) return end(now, connection, *stopped_for_);
    if (life_ == JobStage::opening || !connection.connected()) return end(now, connection, cause);
    if (!life_.goes_on()) return;
    life_.enter(JobStage::stopping);
    stopped_for_ = cause;
    reading_.stop();
    held_.reset();
    // Flow control may delay a message, but not a reset; the receiver answers with STOPPED.
    const auto wire_code = static_cast<std::uint64_t>(close_code_for(code));
    connection.reset_stream(*data_, wire_code);
    connection.reset_stream(*control_, wire_code);
}

void SendJob::end(Instant now, proto::Connection& connection, Result<void> status) {
    if (life_ == JobStage::ended) return;
    // After CONFIRM the end is orderly even if some files failed: both sides know about them.
    const bool orderly = confirmation_.confirmed() && (status.ok() || status.error().code != ErrorCode::integrity);
    if (orderly) {
        connection.close(now, static_cast<std::uint64_t>(CloseCode::done), last_counters(look_at_paths(connection)));
    } else {
        const Error error = status.ok() ? Error{ErrorCode::internal, "ended without a reason"} : status.error();
        connection.close(now, static_cast<std::uint64_t>(close_code_for(error.code)), error.message);
    }
    settle(std::move(status));
}

void SendJob::on_closed(const proto::CloseReason& reason) {
    if (life_ == JobStage::ended) return;
    if (life_ == JobStage::stopping) return settle(*stopped_for_);
    settle(reason.orderly() ? broken("the receiver ended without confirming") : error_for(reason, "receiver: "));
}

void SendJob::settle(Result<void> status) {
    life_.enter(JobStage::ended);
    reading_.stop();
    held_.reset();
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::done;
        outcome.exact = outcome.exact || !data_;  // without an offer the receiver has nothing
        outcome.status = std::move(status);
    });
    if (done_) done_();
}

void SendJob::on_wake(Instant now, proto::Connection& connection) {
    if (const auto error = life_.goes_on() ? reading_.trouble() : std::nullopt) {
        return abort(now, connection, error->code, error->message);
    }
    pump(now, connection);
}

ProbeJob::ProbeJob(Duration time, DoneCallback done)
    : time_(time), done_(std::move(done)), block_(zeros(kProbeBlockBytes)) {}

void ProbeJob::start(Instant now, proto::Connection& connection) {
    connected_at_ = now;
    const auto control = connection.open_stream(StreamKind::ordered);
    const auto data = control ? connection.open_stream(StreamKind::ordered) : control;
    if (!data) {
        connection.close(now, static_cast<std::uint64_t>(CloseCode::done), "");
        return end(data.error());
    }
    data_ = *data;
    life_.enter(JobStage::running);
    message::Offer offer;
    offer.mode = TransferMode::probe;
    MessageWriter out;
    out.put(offer);
    (void)connection.write(*control, Chunk::copy_of(out.bytes()));
    report_.edit([](Progress& progress, Outcome&) { progress.phase = Phase::transfer; });
    fill(connection);
}

void ProbeJob::fill(proto::Connection& connection) {
    if (life_ != JobStage::running) return;
    while (connection.write_capacity(*data_) > 0) {
        if (!connection.write(*data_, block_)) return;
        written_ += kProbeBlockBytes;
    }
    report_.edit([this](Progress& progress, Outcome&) { progress.bytes_sent = written_; });
}

void ProbeJob::end(Result<void> status) {
    if (life_ == JobStage::ended) return;
    life_.enter(JobStage::ended);
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::done;
        outcome.status = std::move(status);
    });
    done_();
}

void ProbeJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    connection.close(now, static_cast<std::uint64_t>(close_code_for(code)), reason);
    end(Error{code, reason});
}

void ProbeJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) return start(now, connection);
    if (std::holds_alternative<proto::event::Writable>(event)) return fill(connection);
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        std::array<std::byte, 4096> ignored{};  // the receiver's reports are not needed
        while (connection.read(readable->id, ignored).bytes > 0) {
        }
        return;
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) end(error_for(closed->reason, "receiver: "));
}

void ProbeJob::on_wake(Instant now, proto::Connection& connection) {
    if (life_ != JobStage::running) return;
    Duration rtt{};
    for (const PathStats& path : connection.stats().paths) rtt = std::max(rtt, path.smoothed_rtt);
    if (now - connected_at_ < std::min(std::max(time_, kRoundTrips * rtt), kLongestProbe)) return fill(connection);
    end({});
    connection.close(now, static_cast<std::uint64_t>(CloseCode::done), "");
}

}  // namespace udtx::transfer
