#include "transfer/job/send_job.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/job/report_pace.hpp"
#include "transfer/message/message_writer.hpp"

namespace udtx::transfer {

namespace {

constexpr Duration kFoundInterval = std::chrono::milliseconds(200);

}  // namespace

Result<std::unique_ptr<SendJob>> SendJob::create(SendJobOptions options, DoneCallback done) {
    const std::vector<std::string> destination = split_path(options.destination);
    if (!destination.empty()) {
        if (auto checked = check_path(destination); !checked) return checked.error();
    }
    std::vector<SourceRoot> roots;
    const bool stream = options.sources.size() == 1 && options.sources.front() == "-";
    if (!stream) {
        auto opened = open_sources(options.sources);
        if (!opened) return opened.error();
        roots = std::move(opened).value();
    }
    return std::unique_ptr<SendJob>(new SendJob(std::move(options), std::move(roots), stream, std::move(done)));
}

std::unique_ptr<SendJob> SendJob::create_for_pull(SendJobOptions options, ConfinedSources sources, DoneCallback done) {
    const bool stream = static_cast<bool>(sources.stream);
    options.role = Role::server;
    if (stream) options.stream_fd = sources.stream.get();
    auto job =
        std::unique_ptr<SendJob>(new SendJob(std::move(options), std::move(sources.roots), stream, std::move(done)));
    job->stream_file_ = std::move(sources.stream);
    job->options_.found = message::Sources{sources.shape, {}};
    for (FailedFile& file : sources.missing) {
        job->options_.found->missing.push_back({std::move(file.path), std::move(file.reason)});
    }
    return job;
}

SendJob::SendJob(SendJobOptions options, std::vector<SourceRoot> roots, bool stream, DoneCallback done)
    : options_(std::move(options)), roots_(std::move(roots)), stream_(stream), done_(std::move(done)) {}

SendJob::~SendJob() {
    waker_.set(nullptr);
    stop_reading();
    if (scan_task_) scan_task_->end();
    if (read_task_) read_task_->end();
}

bool SendJob::at_rest() const noexcept {
    return (!scan_task_ || scan_task_->over()) && (!read_task_ || read_task_->over());
}

UniqueFd SendJob::open_source(const std::string& path) const {
    int error = ENOENT;
    for (const SourceRoot& root : roots_) {
        if (!root.leaf.empty() && path != root.leaf && !path.starts_with(root.leaf + "/")) continue;
        UniqueFd fd = root.directory.open_at(path, O_RDONLY, 0, error);
        if (fd) return fd;
    }
    errno = error;
    return {};
}

void SendJob::start(Instant now, proto::Connection& connection) {
    if (data_ || settled_) return;
    if (options_.role == Role::client && !control_) {
        auto opened = connection.open_stream(StreamKind::ordered);
        if (!opened) return end(now, connection, opened.error());
        control_ = *opened;
    }
    if (!control_) return;  // the peer dialled: its control stream shows up with its first message
    auto data = connection.open_stream(stream_ ? StreamKind::ordered : StreamKind::placed);
    if (!data) return end(now, connection, data.error());
    data_ = *data;
    if (options_.receipt != nullptr) options_.receipt->note(offer());
    MessageWriter out;
    if (options_.found) out.put(*options_.found);
    out.put(offer());
    if (auto written = connection.write(*control_, Chunk::copy_of(out.bytes())); !written) {
        return end(now, connection, written.error());
    }
    report_.edit([this](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::transfer;
        outcome.dry_run = options_.dry_run;
        if (stream_) progress.files_total = 1;
    });
    start_tasks();
    pump(now, connection);
}

void SendJob::presume_fresh() {
    // A dry run's questions are what the receiver goes by.
    if (!options_.dry_run) answers_.presume_nothing();
}

message::Offer SendJob::offer() const {
    message::Offer out;
    out.mode = stream_ ? TransferMode::stream : TransferMode::tree;
    out.preserve = options_.preserve;
    out.hash = options_.hash;
    out.destination = split_path(options_.destination);
    out.transfer = stream_ || options_.dry_run ? 0 : options_.transfer;
    out.overwrite = options_.overwrite;
    out.owner = options_.owner;
    out.sparse = options_.sparse;
    out.dry_run = options_.dry_run;
    out.erase = options_.erase;
    out.by_digest = options_.by_digest;
    out.set_id = options_.set_id;
    return out;
}

std::vector<message::Rules> SendJob::rules() const {
    if (!options_.erase) return {};
    const auto contents = [](const SourceRoot& root) { return root.leaf.empty(); };
    return rule_messages(options_.rules, std::any_of(roots_.begin(), roots_.end(), contents));
}

void SendJob::start_tasks() {
    if (options_.fresh) presume_fresh();
    if (stream_) {
        pipe_.emplace(options_.stream_fd, options_.hash, outgoing_, waker_, report_);
        make_task(read_task_, [this] { return pipe_->step(); });
        outgoing_.call(nullptr, [this] { read_task_->wake(); });
        return read_task_->wake();
    }
    if (options_.sent != nullptr) options_.sent->begin_connection();
    auto rules = this->rules();
    const bool hard_links = options_.hard_links;
    const bool tops = options_.preserve && !options_.dry_run && !options_.names;
    scanner_.emplace(roots_, scanned_, report_,
                     ScanOptions{.rules = std::move(options_.rules),
                                 .links = options_.links,
                                 .hard_links = hard_links,
                                 .names = std::move(options_.names),
                                 .into_named = options_.into_named,
                                 .only_finished = options_.only_finished,
                                 .name_unsent = options_.erase});
    reader_.emplace(roots_,
                    ReadOptions{options_.hash, options_.owner, options_.attributes, options_.preserve, options_.dry_run,
                                options_.dry_run ? options_.planned : PlanCallback(), std::move(rules),
                                options_.receipt != nullptr && !options_.dry_run, options_.tell_plan, options_.sent,
                                hard_links, options_.set_id, tops, options_.tell_warnings},
                    scanned_, outgoing_, waker_, report_, answers_);
    reader_->copy_to(options_.receipt);
    make_task(scan_task_, [this] { return scanner_->step(); });
    make_task(read_task_, [this] { return reader_->step(); });
    const auto read = [this] { read_task_->wake(); };
    scanned_.call(read, [this] { scan_task_->wake(); });
    outgoing_.call(nullptr, read);
    answers_.call(read);
    scan_task_->wake();
    read_task_->wake();
}

void SendJob::make_task(std::optional<DiskTask>& task, DiskTask::Work work) {
    const auto step = [this, work = std::move(work)] {
        if (!trouble()) return work();
        waker_.wake();
        return DiskStep::over();
    };
    const auto failed = [this](Error error) {
        const std::lock_guard lock(trouble_mutex_);
        if (trouble_) return DiskStep::rest_for(std::chrono::milliseconds(50));  // and then tried to tell again
        trouble_ = std::move(error);
        return DiskStep::again();
    };
    task.emplace(disk_pools().work, step, failed);
}

std::optional<Error> SendJob::trouble() const {
    const std::lock_guard lock(trouble_mutex_);
    return trouble_;
}

void SendJob::stop_reading() {
    scanned_.cancel();
    outgoing_.end();
    answers_.cancel();
    if (pipe_) pipe_->stop();
    held_.reset();
}

void SendJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        start(now, connection);
    } else if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        if (!control_ && opened->id == StreamId::make(0, StreamKind::ordered, Role::client)) {
            control_ = opened->id;
            start(now, connection);
            // Some of it may have been read before this job had it.
            if (!settled_) read_control(now, connection);
        } else if (!control_ || opened->id != *control_) {
            // Nobody would read it, and what it holds would stay.
            end(now, connection, broken("the receiver opened a second stream"));
        }
    } else if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        if (control_ && readable->id == *control_) read_control(now, connection);
    } else if (std::holds_alternative<proto::event::Writable>(event)) {
        pump(now, connection);
    } else if (const auto* delivered = std::get_if<proto::event::StreamDelivered>(&event)) {
        if (data_ && delivered->id == *data_ && !settled_) {
            report_.edit([](Progress& progress, Outcome&) { progress.phase = Phase::flush; });
        }
    } else if (std::holds_alternative<proto::event::StreamStopped>(event)) {
        end(now, connection, broken("the receiver stopped a stream"));
    } else if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        on_closed(closed->reason);
    }
}

void SendJob::pump(Instant now, proto::Connection& connection) {
    if (settled_ || giving_up_ || !data_ || finish_) return;
    tell_found(now, connection);
    if (settled_) return;
    std::uint64_t sent = 0;
    while (!finish_) {
        if (!held_) held_ = outgoing_.try_pop();
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
            finish_ = std::move(item.finish);
            written = connection.finish(*data_);
        }
        if (!written) return end(now, connection, written.error());
    }
    queued_bytes_ += sent;
    const bool pipe_failed = stream_ && report_.outcome().failed_count > 0;
    if (pipe_failed) return end(now, connection, Error{ErrorCode::file_io, report_.outcome().failed.front().reason});
    report_.edit([&](Progress& progress, Outcome&) {
        progress.bytes_sent = queued_bytes_;
        if (finish_) progress.totals_final = true;
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
            if (auto handled = handle(connection, **next); !handled) return end(now, connection, handled.error());
            if (last_word_) return end(now, connection, *last_word_);
        }
        if (got.end) return end(now, connection, broken("the receiver ended the control stream"));
        if (got.bytes == 0) break;
    }
    // Where nothing is to be sent for a while this is all that comes by.
    tell_found(now, connection);
}

void SendJob::tell_found(Instant now, proto::Connection& connection) {
    if (settled_ || giving_up_ || finish_ || !data_ || stream_ || options_.dry_run) return;
    if ((told_.final && now < next_found_) || connection.write_capacity(*control_) == 0) return;
    const Progress progress = report_.progress();
    const message::Found found{progress.files_total, progress.bytes_total, progress.totals_final};
    // That it is all is worth a message at once.
    if (found == told_ || (now < next_found_ && found.final == told_.final)) return;
    next_found_ = now + report_pace(connection, kFoundInterval);
    told_ = found;
    MessageWriter out;
    out.put(found);
    if (auto written = connection.write(*control_, Chunk::copy_of(out.bytes())); !written) {
        end(now, connection, written.error());
    }
}

Result<void> SendJob::handle(proto::Connection& connection, const Message& message) {
    if (const auto* accept = std::get_if<message::Accept>(&message)) return handle(*accept);
    if (const auto* failed = std::get_if<message::FileFailed>(&message)) return handle(*failed);
    if (const auto* delivered = std::get_if<message::Delivered>(&message)) return handle(*delivered);
    if (const auto* confirm = std::get_if<message::Confirm>(&message)) return handle(*confirm);
    if (const auto* stopped = std::get_if<message::Stopped>(&message)) return handle(*stopped);
    if (const auto* resume = std::get_if<message::Resume>(&message)) return handle(*resume);
    if (const auto* answer = std::get_if<message::Answer>(&message)) return handle(*answer);
    if (const auto* load = std::get_if<message::Load>(&message)) {
        report_.edit([&](Progress& progress, Outcome&) {
            progress.receiver = {static_cast<double>(load->disk) / 1e3, static_cast<double>(load->cpu) / 1e3};
        });
        return {};
    }
    if (const auto* cap = std::get_if<message::Cap>(&message)) {
        connection.set_peer_rate(cap->bits_per_second == 0
                                     ? Rate::infinite()
                                     : Rate::bits_per_second(static_cast<double>(cap->bits_per_second)));
        return {};
    }
    if (const auto* erased = std::get_if<message::Erased>(&message)) return handle(*erased);
    if (const auto* note = std::get_if<message::Note>(&message)) {
        report_.warn("receiver: " + escape_line(note->text));
        return {};
    }
    if (const auto* unset = std::get_if<message::Unset>(&message)) {
        report_.lacks(unset->entries);
        return {};
    }
    return broken("the receiver sent a sender's message");
}

Result<void> SendJob::handle(const message::Accept& m) {
    if (m.version == kTransferVersion) return {};
    return broken("the receiver speaks another version of the transfer protocol");
}

Result<void> SendJob::handle(const message::FileFailed& m) {
    ++receiver_failures_;
    if (options_.receipt != nullptr) options_.receipt->note(m);
    // A failure that comes late, from the committer, is not of the file that is being read.
    if (m.index != kNoEntry && m.index >= latest_failure_) {
        latest_failure_ = m.index;
        if (reader_) reader_->skip(m.index);
    }
    report_.fail({m.path, error_code_for(m.code), "receiver: " + m.reason});
    return {};
}

void SendJob::note(const message::Totals& totals) {
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
        outcome.skipped = totals.skipped;
    });
}

Result<void> SendJob::handle(const message::Delivered& m) {
    note(m.totals);
    return {};
}

Result<void> SendJob::check_counts(const message::Totals& totals) const {
    if (totals.erased > 0 && !options_.erase) return broken("the receiver deleted something, unasked");
    if (options_.dry_run) return {};
    const bool all_well = totals.failures == 0 && finish_->unsent == 0 && report_.outcome().failed_count == 0;
    if (stream_) {
        const bool whole = totals.files == 1 && totals.bytes == finish_->data_bytes;
        return all_well && !whole ? broken("the receiver confirmed something else than the stream") : Result<void>();
    }
    const std::uint64_t files = report_.progress().files_total;
    const std::uint64_t others = scanner_->others();
    if (totals.files_done > files || totals.files > files) {
        return broken("the receiver confirmed more files than were sent");
    }
    if (totals.directories > others || totals.links > others - totals.directories) {
        return broken("the receiver confirmed more directories and links than were sent");
    }
    if (!all_well) return {};
    if (totals.files_done < files) return broken("the receiver confirmed fewer files than were sent");
    // Each of them came, was there, or was to stay.
    const std::uint64_t settled = std::min(totals.unchanged, files + others) + std::min(totals.skipped, files + others);
    if (totals.files + totals.directories + totals.links + settled < files + others) {
        return broken("the receiver confirmed fewer entries than were sent");
    }
    return {};
}

Result<void> SendJob::handle(const message::Confirm& m) {
    if (!finish_) return broken("the receiver confirmed before everything was sent");
    if (auto checked = check_counts(m.totals); !checked) return checked;
    note(m.totals);
    confirmed_ = true;
    report_.edit([&](Progress& progress, Outcome& outcome) {
        outcome.exact = true;
        if (m.totals.failures == 0) progress.bytes_done = progress.bytes_total = m.totals.written_bytes;
    });
    if (damaged_ > 0) {
        report_.warn("receiver: " + std::to_string(damaged_) +
                     (damaged_ == 1
                          ? " piece of the earlier run was not on disk as it was written and was sent again"
                          : " pieces of the earlier run were not on disk as they were written and were sent again"));
    }
    // It says how much it deleted, and why not otherwise goes without saying.
    const bool errors = m.totals.failures != 0 || finish_->unsent != 0;
    if (options_.erase && errors && m.totals.erased == 0) {
        report_.warn("--delete: the receiver deleted nothing, since there were errors");
    }
    const Outcome outcome = report_.outcome();
    if (m.totals.failures == 0 && receiver_failures_ == 0 && m.root != finish_->root) {
        last_word_ = Error{ErrorCode::integrity,
                           "the receiver's root digest " + m.root.hex() + " differs from ours, " + finish_->root.hex()};
    } else if (m.totals.failures != 0 && outcome.failed_count == 0) {
        last_word_ = broken("the receiver counts failures that it did not report");
    } else {
        last_word_ = status_from_failures(outcome);
    }
    return {};
}

Result<void> SendJob::handle(const message::Stopped& m) {
    note(m.totals);
    report_.edit([](Progress&, Outcome& outcome) { outcome.exact = true; });
    last_word_ = giving_up_.value_or(Error{error_code_for(m.code), "receiver: " + escape_line(m.reason)});
    return {};
}

Result<void> SendJob::handle(const message::Resume& m) {
    if (!m.note.empty()) report_.warn("receiver: " + escape_line(m.note));
    report_.edit([&](Progress&, Outcome& outcome) { outcome.continues = m.keeps; });
    answers_.decide(m);
    return {};
}

Result<void> SendJob::handle(const message::Answer& m) {
    damaged_ += m.damaged;
    return answers_.add(m);
}

Result<void> SendJob::handle(const message::Erased& m) {
    if (!options_.erase) return broken("the receiver deleted something, unasked");
    for (const std::string& path : m.paths) {
        if (options_.planned) options_.planned(erased_entry(path));
    }
    return {};
}

void SendJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    if (settled_) return;
    const Error cause = giving_up_.value_or(Error{code, reason});
    if (giving_up_ || !data_ || !connection.connected()) return end(now, connection, cause);
    giving_up_ = cause;
    stop_reading();
    // A reset is not held up by flow control as a message would be; the receiver's answer is STOPPED.
    const auto wire_code = static_cast<std::uint64_t>(close_code_for(code));
    connection.reset_stream(*data_, wire_code);
    connection.reset_stream(*control_, wire_code);
}

void SendJob::end(Instant now, proto::Connection& connection, Result<void> status) {
    if (settled_) return;
    // After CONFIRM the end is orderly even when some files failed: both sides know about them.
    const bool orderly = confirmed_ && (status.ok() || status.error().code != ErrorCode::integrity);
    if (orderly) {
        connection.close(now, static_cast<std::uint64_t>(CloseCode::done), "");
    } else {
        const Error error = status.ok() ? Error{ErrorCode::internal, "ended without a reason"} : status.error();
        connection.close(now, static_cast<std::uint64_t>(close_code_for(error.code)), error.message);
    }
    settle(std::move(status));
}

void SendJob::on_closed(const proto::CloseReason& reason) {
    if (settled_) return;
    if (giving_up_) return settle(*giving_up_);
    if (reason.orderly()) return settle(broken("the receiver ended without confirming"));
    const ErrorCode code = reason.application ? error_code_for(reason.wire_code) : reason.code;
    const std::string who = reason.application && reason.by_peer ? "receiver: " : "";
    settle(Error{code, who + escape_line(reason.message)});
}

void SendJob::settle(Result<void> status) {
    settled_ = true;
    stop_reading();
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::done;
        outcome.exact = outcome.exact || !data_;  // nothing was offered, nothing can be there
        outcome.status = std::move(status);
    });
    if (done_) done_();
}

void SendJob::on_wake(Instant now, proto::Connection& connection) {
    if (const auto error = giving_up_ ? std::nullopt : trouble()) {
        return abort(now, connection, error->code, error->message);
    }
    pump(now, connection);
}

void SendJob::on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {}

}  // namespace udtx::transfer
