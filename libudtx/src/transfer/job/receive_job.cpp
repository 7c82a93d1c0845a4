#include "transfer/job/receive_job.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/job/report_pace.hpp"
#include "transfer/landing/dry_landing.hpp"
#include "transfer/landing/stream_landing.hpp"
#include "transfer/landing/tree_landing.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr Duration kDeliveredInterval = std::chrono::milliseconds(100);
constexpr Duration kLoadInterval = std::chrono::milliseconds(200);
/// So many bytes of ours the sender need not have taken before it gets more of the lists that it makes us answer with.
constexpr std::uint64_t kMaxAnswersAhead = 2U << 20U;
constexpr auto kBeforeAnotherTry = std::chrono::milliseconds(20);

std::uint64_t thousandths(Duration part, Duration whole) {
    return static_cast<std::uint64_t>(std::clamp(to_seconds(part) / to_seconds(whole), 0.0, 1.0) * 1000.0);
}

}  // namespace

Result<std::unique_ptr<ReceiveJob>> ReceiveJob::create(ReceiveOptions options, DoneCallback done) {
    std::optional<ConfinedDir> base;
    const bool homeless = options.dry_run && options.directory.empty();
    if (!options.to_stream && !options.pull && !homeless) {
        auto opened = ConfinedDir::open_below(options.directory, options.below);
        if (!opened) return opened.error();
        base = std::move(opened).value();
    }
    return std::unique_ptr<ReceiveJob>(new ReceiveJob(std::move(options), std::move(base), std::move(done)));
}

ReceiveJob::ReceiveJob(ReceiveOptions options, std::optional<ConfinedDir> base, DoneCallback done)
    : options_(std::move(options)), base_(std::move(base)), done_(std::move(done)) {
    report_.edit([](Progress&, Outcome& outcome) { outcome.exact = true; });
}

ReceiveJob::~ReceiveJob() {
    waker_.set(nullptr);
    set_status(Error{ErrorCode::interrupted, "the job was given up"});
    stop_work();
    if (task_) task_->end();
    // What it had no time for.
    landing_.reset();
}

void ReceiveJob::stop_work() {
    if (stop_) stop_->stop();
    queue_.cancel();
}

void ReceiveJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) return on_closed(closed->reason);
    if (ended_) return;
    if (winding_up_) return discard(connection);
    if (std::holds_alternative<proto::event::Connected>(event)) {
        if (options_.role == Role::client && !control_) begin(now, connection);
    } else if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        on_stream(now, connection, opened->id);
    } else if (const auto* reset = std::get_if<proto::event::StreamReset>(&event)) {
        on_reset(now, connection, reset->code);
    } else if (std::holds_alternative<proto::event::Writable>(event)) {
        waker_.wake();  // for what waits in the feedback; then as for any other event
    } else {
        advance(now, connection);
    }
}

void ReceiveJob::begin(Instant now, proto::Connection& connection) {
    auto opened = connection.open_stream(StreamKind::ordered);
    if (!opened) return end(now, connection, opened.error());
    control_ = *opened;
    MessageWriter out;
    if (options_.pull) {
        for (const Message& message : options_.pull->request) out.put(message);
    }
    out.put(message::Accept{});  // makes the stream known to the sender, and ends a request
    send(now, connection, out);
    accepted_sent_ = true;
}

void ReceiveJob::on_stream(Instant now, proto::Connection& connection, StreamId id) {
    if (id == StreamId::make(0, StreamKind::ordered, Role::client)) {
        control_ = id;
    } else if (!data_ || *data_ == id) {
        data_ = id;
    } else {
        return end(now, connection, broken("the sender opened a second data stream"));
    }
    advance(now, connection);
}

void ReceiveJob::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (ended_ || winding_up_) return;
    if (!data_) data_ = id;
    if (*data_ != id) return;
    assembler_.on_bytes(offset, bytes);
    const bool any = hand_over_pieces();
    arriving_ = assembler_.held();
    // Errors wait for the next event: this call has no connection to close. FINISH is followed by one for sure.
    if (finish_ && (any || assembler_.has_unannounced())) waker_.wake();
}

UniqueFd ReceiveJob::open_delivered(const std::string& path) const {
    int error = ENOENT;
    UniqueFd fd;
    if (base_ && offer_) {
        std::vector<std::string> whole = offer_->destination;
        whole.push_back(path);
        fd = base_->open_at(join_path(whole), O_RDONLY, 0, error);
    }
    errno = error;
    return fd;
}

void ReceiveJob::on_wake(Instant now, proto::Connection& connection) {
    const bool some = !ended_ && takes_answers(connection);
    ReceiveFeedback::News news = feedback_.take(some ? ReceiveFeedback::Lists::some : ReceiveFeedback::Lists::none);
    worker_idle_ = worker_idle_ || news.worker_idle;
    if (ended_) return;
    if (news.released_bytes > 0 && data_) connection.release_placed(*data_, news.released_bytes);
    pass_on(now, connection, news);
    if (news.fatal && is_shortage(*news.fatal) && report_.outcome().files == 0) {
        set_status(*news.fatal);
        connection.refuse(now, refusal_for(*news.fatal));
    } else if (news.fatal) {
        fail(now, connection, *news.fatal);
    }
    if (ended_) return;
    if (winding_up_) return say_stopped(now, connection);
    if (news.confirm) return confirm(now, connection, *news.confirm);
    if (now >= next_delivered_) {
        if (const message::Totals so_far = totals(); so_far != told_) {
            next_delivered_ = now + report_pace(connection, kDeliveredInterval);
            told_ = so_far;
            send(now, connection, message::Delivered{so_far});
        }
    }
    tell_load(now, connection);
    if (news.more) waker_.wake();
    advance(now, connection);
}

bool ReceiveJob::takes_answers(proto::Connection& connection) const {
    return control_ && connection.write_capacity(*control_, kMaxAnswersAhead) > 0;
}

void ReceiveJob::tell_load(Instant now, proto::Connection& connection) {
    if (!thread_time_) thread_time_.emplace();
    if (ended_ || now < next_load_) return;
    next_load_ = now + report_pace(connection, kLoadInterval);
    const LoadMark mark{now, work_.busy(), thread_time_->needed()};
    if (load_mark_) {
        const Duration time = now - load_mark_->at;
        send(now, connection,
             message::Load{thousandths(mark.worked - load_mark_->worked, time),
                           thousandths(mark.needed - load_mark_->needed, time)});
    }
    load_mark_ = mark;
}

void ReceiveJob::set_cap(Instant now, proto::Connection& connection, Rate cap) {
    cap_ = cap;
    if (ended_ || winding_up_ || !control_ || !accepted_sent_) return;
    cap_.reset();
    send(now, connection, message::Cap{cap.is_infinite() ? 0 : static_cast<std::uint64_t>(std::max(1.0, cap.bps()))});
}

void ReceiveJob::pass_on(Instant now, proto::Connection& connection, ReceiveFeedback::News& news) {
    MessageWriter out;
    if (news.resume) out.put(*news.resume);
    for (message::Answer& answer : news.answers) {
        if (options_.pull) options_.pull->asked.note(answer);
        out.put(std::move(answer));
    }
    for (message::FileFailed& failed : news.failed) {
        if (options_.receipt != nullptr) options_.receipt->note(failed);
        out.put(std::move(failed));
    }
    for (std::string& text : news.notes) out.put(message::Note{std::move(text)});
    message::Erased erased;
    std::size_t bytes = 0;
    for (std::string& path : news.erased) {
        if (options_.planned) options_.planned(erased_entry(path));
        bytes += path.size() + 2;
        if (bytes > kMaxListedPathBytes || erased.paths.size() == kMaxListItems) {
            out.put(std::exchange(erased, {}));
            bytes = path.size() + 2;
        }
        erased.paths.push_back(std::move(path));
    }
    if (!erased.paths.empty()) out.put(std::move(erased));
    if (!out.empty()) send(now, connection, out);
}

void ReceiveJob::tell_unset(Instant now, proto::Connection& connection) {
    MessageWriter out;
    for (const Unset& unset : report_.outcome().unset) out.put(message::Unset{unset});
    if (!out.empty()) send(now, connection, out);
    for (const Unset& unset : std::exchange(sender_lacks_, {})) report_.lacks(unset);
}

std::vector<message::FileFailed> ReceiveJob::fail_absent(AskedFor::Questions questions) {
    std::vector<message::FileFailed> failed;
    if (!options_.pull || !finish_) return failed;
    for (AskedFor::Absent& absent : options_.pull->asked.take_absent(questions)) {
        if (absent.may_be_link) {
            report_.warn("'" + escape_name(absent.name) + "' did not come: it may be a link, and those are left out");
            continue;
        }
        constexpr const char* kWhy = "it was asked for, and the sender did not send it";
        report_.fail({absent.name, ErrorCode::partial, kWhy});
        // One that could not read something knows what.
        if (++absent_ > finish_->unsent) {
            failed.push_back({kNoEntry, static_cast<std::uint64_t>(CloseCode::file_io), std::move(absent.name), kWhy});
        }
    }
    return failed;
}

void ReceiveJob::confirm(Instant now, proto::Connection& connection, message::Confirm message) {
    for (message::FileFailed& failed : fail_absent(AskedFor::Questions::over)) {
        send(now, connection, std::move(failed));
        ++message.totals.failures;
    }
    const std::uint64_t unsent = finish_ ? finish_->unsent - std::min(finish_->unsent, absent_) : 0;
    if (unsent > 0) {
        report_.warn("the sender could not read " + std::to_string(unsent) + " of its entries, and cannot name them");
        report_.edit([&](Progress&, Outcome& outcome) { outcome.failed_count += unsent; });
    }
    confirm_sent_ = true;
    tell_unset(now, connection);
    set_status(status_from_failures(report_.outcome()));
    report_.edit([](Progress& progress, Outcome&) { progress.phase = Phase::verify; });
    send(now, connection, message);
    if (!options_.confirms_last) return;
    queue_.cancel();
    settle_if_over(true, false);
}

void ReceiveJob::advance(Instant now, proto::Connection& connection) {
    if (!ended_ && control_) read_control(now, connection);
    if (!ended_ && !winding_up_ && data_ && data_->kind() == StreamKind::ordered) read_data(now, connection);
    if (ended_ || winding_up_) return;
    hand_over_pieces();
    arriving_ = assembler_.held();
    if (auto finished = finish_if_complete(); !finished) end(now, connection, finished.error());
}

void ReceiveJob::send(Instant now, proto::Connection& connection, const Message& message) {
    MessageWriter out;
    out.put(message);
    send(now, connection, out);
}

void ReceiveJob::send(Instant now, proto::Connection& connection, const MessageWriter& messages) {
    if (auto written = connection.write(*control_, Chunk::copy_of(messages.bytes())); !written) {
        end(now, connection, written.error());
    }
}

message::Totals ReceiveJob::totals() { return totals_of(report_); }

void ReceiveJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    const Error cause{code, reason};
    if (winding_up_ || confirm_sent_) return end(now, connection, winding_up_.value_or(cause));
    fail(now, connection, cause);
}

void ReceiveJob::fail(Instant now, proto::Connection& connection, const Error& cause) {
    set_status(cause);
    wind_up(now, connection, cause);
}

void ReceiveJob::on_reset(Instant now, proto::Connection& connection, std::uint64_t code) {
    // Status and words come with the sender's close, after it has heard what was delivered.
    wind_up(now, connection, Error{error_code_for(code), "the sender ended the transfer"});
}

void ReceiveJob::wind_up(Instant now, proto::Connection& connection, const Error& cause) {
    if (ended_ || winding_up_) return;
    if (!control_) return end(now, connection, cause);
    winding_up_ = cause;
    stop_work();
    discard(connection);
    say_stopped(now, connection);
}

void ReceiveJob::discard(proto::Connection& connection) {
    std::array<std::byte, 16384> block{};
    for (const auto& stream : {control_, data_}) {
        if (!stream || stream->kind() != StreamKind::ordered) continue;
        while (connection.read(*stream, block).bytes > 0) {
        }
    }
}

void ReceiveJob::say_stopped(Instant now, proto::Connection& connection) {
    if (!worker_idle_ || std::exchange(stopped_sent_, true)) return;
    // Of the lists what is left; it is less than one turn brings.
    ReceiveFeedback::News last = feedback_.take(ReceiveFeedback::Lists::all);
    pass_on(now, connection, last);
    tell_unset(now, connection);
    const auto code = static_cast<std::uint64_t>(close_code_for(winding_up_->code));
    send(now, connection, message::Stopped{code, winding_up_->message, totals()});
}

void ReceiveJob::end(Instant now, proto::Connection& connection, const Error& error) {
    if (ended_) return;
    ended_ = true;
    set_status(error);
    connection.close(now, static_cast<std::uint64_t>(close_code_for(error.code)), error.message);
    // Clean up at once rather than when the connection has drained.
    stop_work();
}

void ReceiveJob::on_closed(const proto::CloseReason& reason) {
    ended_ = true;
    const ErrorCode code = reason.application ? error_code_for(reason.wire_code) : reason.code;
    const std::string who = reason.application && reason.by_peer ? "sender: " : "";
    if (winding_up_ && !reason.application) set_status(*winding_up_);
    if (probe_ && reason.orderly()) set_status({});
    set_status(Error{code, reason.orderly() ? "the sender ended before everything was confirmed"
                                            : who + escape_line(reason.message)});
    stop_work();
    settle_if_over(true, false);
}

void ReceiveJob::set_status(Result<void> status) {
    const std::lock_guard lock(status_mutex_);
    if (!status_) status_ = std::move(status);
}

void ReceiveJob::settle_if_over(bool connection_over, bool worker_over) {
    {
        const std::lock_guard lock(status_mutex_);
        connection_over_ = connection_over_ || connection_over;
        worker_over_ = worker_over_ || worker_over;
        if (!connection_over_ || !worker_over_ || std::exchange(settled_, true)) return;
        report_.edit([&](Progress& progress, Outcome& outcome) {
            progress.phase = Phase::done;
            outcome.status = status_.value_or(Error{ErrorCode::internal, "ended without a reason"});
        });
    }
    if (done_) done_();
}

void ReceiveJob::start_worker() {
    if (options_.to_stream) stop_.emplace();
    task_.emplace(
        disk_pools().work, [this] { return work(); }, [this](Error error) { return keep_trouble(std::move(error)); });
    const auto wake = [this] { task_->wake(); };
    queue_.call(wake, nullptr);
    feedback_.call(wake);
    worker_idle_ = false;
    worker_over_ = false;  // no other thread looks at it yet
    task_->wake();
}

DiskStep ReceiveJob::work() {
    const DiskSlice slice;
    if (trouble_) tell_trouble();
    // The protocol thread closes the queue when nothing more is to be done.
    while (!queue_.over()) {
        if (trouble_) {
            if (!queue_.try_pop()) return DiskStep::rest();
            continue;
        }
        if (!landing_) {
            const auto measured = measure_quota(slice);
            if (!measured) return keep_trouble(measured.error());
            if (!*measured) return DiskStep::rest_for(kBeforeAnotherTry);
            landing_ = make_landing();
        }
        if (!landing_->begun()) return DiskStep::rest_for(kBeforeAnotherTry);
        if (!feedback_.has_room()) return DiskStep::rest();
        const WorkClock::Shift shift(work_);
        if (!landing_->go_on()) {
            auto next = queue_.try_pop();
            if (!next) return queue_.over() ? DiskStep::again() : DiskStep::rest();
            landing_->take(std::move(*next));
        }
        landed_ = landing_->held();
        if (slice.over()) return DiskStep::again();
    }
    landing_.reset();
    look_.reset();
    landed_ = 0;
    feedback_.edit([](ReceiveFeedback::News& news) { news.worker_idle = true; });
    settle_if_over(false, true);
    return DiskStep::over();
}

Result<bool> ReceiveJob::measure_quota(const DiskSlice& slice) {
    const bool writes = base_ && !options_.to_stream && !offer_->dry_run && offer_->mode != TransferMode::probe;
    if (!writes || !options_.room.quota) return true;
    if (!look_) look_.emplace(options_.room.quota);
    const auto over = look_->go_on(*base_, slice);
    if (over && *over) look_.reset();
    return over;
}

std::unique_ptr<Landing> ReceiveJob::make_landing() {
    const message::Offer& offer = *offer_;
    const LandingLinks links{queue_, feedback_, report_};
    const TreeRights rights{
        options_.resume, options_.overwrite, options_.receipt != nullptr, static_cast<bool>(options_.planned),
        options_.room,   options_.keep_base, options_.allow_set_id};
    if (offer.mode == TransferMode::probe) return land_probe(links);
    if (offer.dry_run) return land_nowhere(base_ ? &*base_ : nullptr, offer, rights, links);
    if (offer.mode == TransferMode::tree) return land_tree(*base_, offer, rights, links);
    if (options_.to_stream) return land_pipe(options_.stream_fd, offer, *stop_, links);
    return land_file(*base_, offer, rights, links);
}

DiskStep ReceiveJob::keep_trouble(Error error) noexcept {
    if (!trouble_) {
        trouble_ = std::move(error);
        return DiskStep::again();
    }
    // Even to tell of it took more than there was.
    return DiskStep::rest_for(kBeforeAnotherTry);
}

void ReceiveJob::tell_trouble() {
    landing_.reset();
    look_.reset();
    if (trouble_told_) return;
    feedback_.edit([this](ReceiveFeedback::News& news) { news.fatal = *trouble_; });
    trouble_told_ = true;
}

}  // namespace udtx::transfer
