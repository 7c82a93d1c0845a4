#include "transfer/job/send_job.hpp"

#include <array>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/job/job.hpp"
#include "transfer/message/message_codec.hpp"
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

message::Offer offer_of(const SendJobOptions& options, bool stream) {
    message::Offer out;
    out.mode = stream ? TransferMode::stream : TransferMode::tree;
    out.preserve = options.preserve;
    out.hash = options.hash;
    out.destination = split_path(options.destination);
    out.transfer = stream || options.dry_run ? 0 : options.transfer;
    out.overwrite = options.overwrite;
    out.owner = options.owner;
    out.sparse = options.sparse;
    out.dry_run = options.dry_run;
    out.erase = options.erase;
    out.by_digest = options.by_digest;
    out.set_id = options.set_id;
    if (!stream && !options.dry_run) out.shard = options.shard;
    return out;
}

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
    : options_(std::move(options)),
      done_(std::move(done)),
      reading_(std::move(roots), stream, options_, waker_, report_),
      replies_(options_, reading_, report_) {
    if (!options_.dry_run) report_.tell_files(options_.on_file, FileEvent::Direction::send);
}

SendJob::~SendJob() { waker_.set(nullptr); }

void SendJob::start(Instant now, proto::Connection& connection) {
    if (data_ || settled_) return;
    if (options_.role == Role::client && !control_) {
        auto opened = connection.open_stream(StreamKind::ordered);
        if (!opened) return end(now, connection, opened.error());
        control_ = *opened;
    }
    if (!control_) return;  // the peer connected: its control stream appears with its first message
    const bool stream = reading_.stream();
    auto data = connection.open_stream(stream ? StreamKind::ordered : StreamKind::placed);
    if (!data) return end(now, connection, data.error());
    data_ = *data;
    const message::Offer offer = offer_of(options_, stream);
    if (offer.shard && offer.shard->bits_per_second > 0) {
        connection.set_group_rate(Rate::bits_per_second(static_cast<double>(least_share(*offer.shard))));
    }
    if (options_.receipt != nullptr) options_.receipt->note(offer);
    MessageWriter out;
    if (options_.found) out.put(*options_.found);
    out.put(offer);
    if (auto written = connection.write(*control_, Chunk::copy_of(out.bytes())); !written) {
        return end(now, connection, written.error());
    }
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::transfer;
        outcome.dry_run = options_.dry_run;
    });
    note_missing();  // their names are whole
    report_.set_place(
        [this](const std::string& path, std::optional<std::size_t> from) { return reading_.place_of(path, from); });
    if (options_.fresh) presume_fresh();
    // A pipe can be read only once: not before the receiver has taken the transfer, which it may turn away.
    if (!stream || options_.role == Role::server) start_reading(connection);
    pump(now, connection);
}

void SendJob::start_reading(const proto::Connection& connection) {
    if (std::exchange(reads_, true)) return;
    if (reading_.stream()) report_.edit([](Progress& progress, Outcome&) { progress.files_total = 1; });
    reading_.start(is_far(connection));
}

// In a push the caller counts them. In a pull this end has its own report, and SOURCES has told the receiver.
void SendJob::note_missing() {
    for (const FailedFile& file : options_.missing) {
        report_.omit("'" + escape_name(file.path) + "': " + file.reason);
    }
    if (!options_.found) return;
    for (const auto& missing : options_.found->missing) {
        report_.fail({missing.path, ErrorCode::file_io, missing.reason});
    }
}

void SendJob::presume_fresh() {
    // A dry run needs the questions: the receiver makes its plan from them.
    if (!options_.dry_run) reading_.answers().presume_nothing();
}

void SendJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        start(now, connection);
    } else if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        if (!control_ && opened->id == StreamId::make(0, StreamKind::ordered, Role::client)) {
            control_ = opened->id;
            start(now, connection);
            // Part of the stream may have been read before this job got it.
            if (!settled_) read_control(now, connection);
        } else if (!control_ || opened->id != *control_) {
            // Nobody would read it, and its data would stay in memory.
            end(now, connection, broken("the receiver opened a second stream"));
        }
    } else if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        if (control_ && readable->id == *control_) read_control(now, connection);
    } else if (std::holds_alternative<proto::event::Writable>(event)) {
        pump(now, connection);
    } else if (const auto* delivered = std::get_if<proto::event::StreamDelivered>(&event)) {
        if (data_ && delivered->id == *data_ && !settled_) {
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
    if (settled_ || giving_up_ || !data_ || replies_.all_sent()) return;
    tell_found(now, connection);
    tell_paths(now, connection, false);
    if (settled_) return;
    std::uint64_t sent = 0;
    while (!replies_.all_sent()) {
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
            if (settled_) return;
            replies_.expect_confirmation(*item.finish);
            written = connection.finish(*data_);
        }
        if (!written) return end(now, connection, written.error());
    }
    queued_bytes_ += sent;
    const bool pipe_failed = reading_.stream() && report_.outcome().failed_count > 0;
    if (pipe_failed) return end(now, connection, Error{ErrorCode::file_io, report_.outcome().failed.front().reason});
    report_.edit([&](Progress& progress, Outcome&) {
        progress.bytes_sent = queued_bytes_;
        if (replies_.all_sent()) progress.totals_final = true;
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
            if (const auto& word = replies_.last_word()) {
                return end(now, connection, giving_up_ && !replies_.confirmed() ? *giving_up_ : *word);
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
    if (settled_ || giving_up_ || !data_ || (now < next_paths_ && !at_once)) return;
    if (connection.write_capacity(*control_) == 0) return;
    next_paths_ = now + report_pace(connection, replies_.all_sent() ? kLastPathsInterval : kPathsInterval);
    MessageWriter out;
    out.put(message::Paths{look_at_paths(connection)});
    if (auto written = connection.write(*control_, Chunk::copy_of(out.bytes())); !written) {
        end(now, connection, written.error());
    }
}

std::vector<SenderPath> SendJob::look_at_paths(const proto::Connection& connection) {
    std::vector<SenderPath> paths;
    for (const PathStats& path : connection.stats().paths) {
        if (paths.size() == kMaxPathsTold) break;
        paths.push_back({path.id, path.sent_packets, path.lost_packets, path.retransmitted_packets, path.congestion.mtr,
                         path.datagram_bytes});
    }
    report_.edit([&](Progress& progress, Outcome&) { progress.sender = paths; });
    return paths;
}

void SendJob::tell_found(Instant now, proto::Connection& connection) {
    if (settled_ || giving_up_ || replies_.all_sent() || !data_) return;
    // Data shows by itself that this end works.
    if (std::exchange(shown_bytes_, queued_bytes_) != queued_bytes_) next_step_ = now + kStepInterval;
    const bool works = now >= next_step_ && report_.steps() != told_steps_;
    if ((told_.final && now < next_found_ && !works) || connection.write_capacity(*control_) == 0) return;
    message::Found found = told_;
    if (!reading_.stream() && !options_.dry_run) {
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
    if (auto written = connection.write(*control_, Chunk::copy_of(out.bytes())); !written) {
        end(now, connection, written.error());
    }
}

Result<void> SendJob::take(proto::Connection& connection, const Message& message) {
    if (const auto* share = std::get_if<message::Share>(&message)) {
        if (!options_.shard || options_.shard->bits_per_second == 0)
            return broken("a share of a rate that does not exist");
        connection.set_group_rate(Rate::bits_per_second(static_cast<double>(share->bits_per_second)));
        return {};
    }
    const auto* cap = std::get_if<message::Cap>(&message);
    if (cap == nullptr) {
        const auto taken = replies_.take(message);
        if (taken && data_ && !giving_up_ && std::holds_alternative<message::Accept>(message))
            start_reading(connection);
        return taken;
    }
    connection.set_peer_rate(cap->bits_per_second == 0
                                 ? Rate::infinite()
                                 : Rate::bits_per_second(static_cast<double>(cap->bits_per_second)));
    return {};
}

void SendJob::stop_reading() {
    reading_.stop();
    held_.reset();
}

void SendJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    if (settled_) return;
    const Error cause = giving_up_.value_or(Error{code, reason});
    if (giving_up_ || !data_ || !connection.connected()) return end(now, connection, cause);
    giving_up_ = cause;
    stop_reading();
    // Flow control may delay a message, but not a reset; the receiver answers with STOPPED.
    const auto wire_code = static_cast<std::uint64_t>(close_code_for(code));
    connection.reset_stream(*data_, wire_code);
    connection.reset_stream(*control_, wire_code);
}

void SendJob::end(Instant now, proto::Connection& connection, Result<void> status) {
    if (settled_) return;
    // After CONFIRM the end is orderly even if some files failed: both sides know about them.
    const bool orderly = replies_.confirmed() && (status.ok() || status.error().code != ErrorCode::integrity);
    if (orderly) {
        connection.close(now, static_cast<std::uint64_t>(CloseCode::done), last_counters(look_at_paths(connection)));
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
        outcome.exact = outcome.exact || !data_;  // without an offer the receiver has nothing
        outcome.status = std::move(status);
    });
    if (done_) done_();
}

void SendJob::on_wake(Instant now, proto::Connection& connection) {
    if (const auto error = giving_up_ ? std::nullopt : reading_.trouble()) {
        return abort(now, connection, error->code, error->message);
    }
    pump(now, connection);
}

void SendJob::on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {}

}  // namespace udtx::transfer
