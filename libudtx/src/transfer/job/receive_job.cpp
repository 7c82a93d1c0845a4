#include "transfer/job/receive_job.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/state_access.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr Duration kDeliveredInterval = std::chrono::milliseconds(100);
constexpr Duration kLoadInterval = std::chrono::milliseconds(200);
/// Most bytes of answers that may wait for the sender. Beyond that, its messages that demand answers stay unread.
constexpr std::uint64_t kMaxAnswersAhead = 2U << 20U;

constexpr auto kBeforeAnotherTry = std::chrono::milliseconds(20);

}  // namespace

LandingTask::LandingTask(const LandingOptions& options, LateWaker& waker, JobReport& job)
    : options_(options), report_(waker, queue_, job) {}

LandingTask::~LandingTask() {
    stop();
    if (task_) task_->end();
    // Tidies up if the task had no time for it.
    landing_.reset();
}

void LandingTask::stop() {
    if (stop_) stop_->stop();
    queue_.cancel();
}

void LandingTask::start(const ConfinedDir* base, const message::Offer& offer, std::function<void()> over) {
    base_ = base;
    offer_ = offer;
    over_ = std::move(over);
    if (options_.stream_fd) stop_.emplace();
    task_.emplace(
        disk_pools().work, [this] { return step(); }, [this](Error error) { return keep_trouble(std::move(error)); });
    const auto wake = [this] { task_->wake(); };
    queue_.call(wake, nullptr);
    report_.call(wake);
    task_->wake();
}

DiskStep LandingTask::step() {
    const DiskStep next = work();
    const bool goes_on = next.then == DiskStep::Then::again;
    if (goes_on && report_.job.worked()) report_.wake();
    report_.tell_released();
    return next;
}

DiskStep LandingTask::work() {
    const DiskSlice slice;
    if (trouble_) {
        landing_.reset();
        look_.reset();
        if (!trouble_told_) report_.fatal(*trouble_);
        trouble_told_ = true;
    }
    // The protocol thread closes the queue when there is no more work.
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
        if (!report_.has_room()) return DiskStep::rest();
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
    over_();
    report_.wake();
    return DiskStep::over();
}

Result<bool> LandingTask::measure_quota(const DiskSlice& slice) {
    const bool writes = base_ && !options_.stream_fd && !offer_->dry_run && offer_->mode != TransferMode::probe;
    if (!writes || !options_.quota) return true;
    if (!look_) look_.emplace(StateAccess::of(*options_.quota));
    const auto over = look_->go_on(*base_, slice);
    if (over && *over) look_.reset();
    return over;
}

std::unique_ptr<Landing> LandingTask::make_landing() {
    const message::Offer& offer = *offer_;
    if (offer.mode == TransferMode::probe) return land_probe(report_);
    if (offer.dry_run) return land_nowhere(base_, offer, options_, report_);
    if (offer.mode == TransferMode::tree) return land_tree(*base_, offer, options_, report_);
    if (options_.stream_fd) return land_pipe(*options_.stream_fd, offer, *stop_, report_);
    return land_file(*base_, offer, options_, report_);
}

DiskStep LandingTask::keep_trouble(Error error) noexcept {
    if (!trouble_) {
        trouble_ = std::move(error);
        return DiskStep::again();
    }
    // Reporting the error failed as well: try again later.
    return DiskStep::rest_for(kBeforeAnotherTry);
}

Result<std::unique_ptr<ReceiveJob>> ReceiveJob::create(LandingOptions options, ReceiveRun run, DoneCallback done) {
    std::optional<ConfinedDir> base;
    const bool homeless = options.dry_run && options.directory.empty();
    if (!options.stream_fd && !run.pull && !homeless) {
        auto opened = ConfinedDir::open_below(options.directory, options.below);
        if (!opened) return opened.error();
        base = std::move(opened).value();
    }
    return std::unique_ptr<ReceiveJob>(
        new ReceiveJob(std::move(options), std::move(run), std::move(base), std::move(done)));
}

ReceiveJob::ReceiveJob(LandingOptions options, ReceiveRun run, std::optional<ConfinedDir> base, DoneCallback done)
    : options_(std::move(options)),
      run_(std::move(run)),
      base_(std::move(base)),
      done_(std::move(done)),
      landing_(options_, waker_, report_),
      incoming_(options_, run_.pull, base_, landing_.queue(), landing_.report()) {
    report_.tell_files(run_.on_file, FileEvent::Direction::receive);
    report_.edit([](Progress&, Outcome& outcome) { outcome.exact = true; });
}

ReceiveJob::~ReceiveJob() {
    waker_.set(nullptr);
    set_status(Error{ErrorCode::interrupted, "the job was given up"});
}

void ReceiveJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) return on_closed(closed->reason);
    if (life_ == JobStage::ended) return;
    if (!life_.goes_on()) return discard(connection);
    if (std::holds_alternative<proto::event::Connected>(event)) {
        if (run_.pull && !control_) begin(now, connection);
    } else if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        on_stream(now, connection, opened->id);
    } else if (const auto* reset = std::get_if<proto::event::StreamReset>(&event)) {
        // Status and reason arrive with the sender's close, after it has read what was delivered.
        wind_up(now, connection, Error{error_code_for(reset->code), "the sender ended the transfer"});
    } else if (std::holds_alternative<proto::event::Writable>(event)) {
        waker_.wake();  // on_wake() sends what waits in the landing's report, then advances as after any other event
    } else {
        read_on(now, connection);
    }
}

void ReceiveJob::begin(Instant now, proto::Connection& connection) {
    auto opened = connection.open_stream(StreamKind::ordered);
    if (!opened) return end(now, connection, opened.error());
    control_ = *opened;
    MessageWriter out;
    for (const Message& message : run_.pull->request) out.put(message);
    out.put(message::Accept{});  // makes the stream known to the sender, and ends a request
    life_.enter(JobStage::running);
    send(now, connection, out);
}

void ReceiveJob::on_stream(Instant now, proto::Connection& connection, StreamId id) {
    if (id == StreamId::make(0, StreamKind::ordered, Role::client)) {
        control_ = id;
    } else if (!data_ || *data_ == id) {
        data_ = id;
    } else {
        return end(now, connection, broken("the sender opened a second data stream"));
    }
    read_on(now, connection);
}

UniqueFd ReceiveJob::open_delivered(const std::string& path) const {
    OpenedFd opened{{}, ENOENT};
    if (base_ && incoming_.offer()) {
        std::vector<std::string> whole = incoming_.offer()->destination;
        whole.push_back(path);
        opened = base_->open_at(join_path(whole), O_RDONLY);
    }
    errno = opened.error;
    return std::move(opened.fd);
}

void ReceiveJob::on_wake(Instant now, proto::Connection& connection) {
    const bool some = life_ != JobStage::ended && takes_answers(connection);
    LandingReport::News news = landing_.report().take(some ? LandingReport::Lists::some : LandingReport::Lists::none);
    if (life_ == JobStage::ended) return;
    if (news.released_bytes > 0 && data_) connection.release_pieces(*data_, news.released_bytes);
    pass_on(now, connection, news);
    if (news.fatal && is_shortage(*news.fatal) && report_.outcome().files == 0) {
        set_status(*news.fatal);
        connection.refuse(now, refusal_for(*news.fatal));
    } else if (news.fatal) {
        fail(now, connection, *news.fatal);
    }
    if (life_ == JobStage::ended) return;
    if (!life_.goes_on()) return say_stopped(now, connection);
    if (news.confirm) return confirm(now, connection, *news.confirm);
    const bool works = life_ != JobStage::confirming && now >= next_step_ && report_.steps() != told_steps_;
    if (now >= next_delivered_ || works) {
        if (const message::Totals so_far = totals_of(report_); so_far != told_ || works) {
            next_delivered_ = now + report_pace(connection, kDeliveredInterval);
            next_step_ = now + kStepInterval;
            told_steps_ = report_.steps();
            told_ = so_far;
            send(now, connection, message::Delivered{so_far});
        }
    }
    if (life_ != JobStage::ended && now >= next_load_) {
        next_load_ = now + report_pace(connection, kLoadInterval);
        if (const auto load = load_.look(now, landing_.busy())) send(now, connection, *load);
    }
    if (news.more) waker_.wake();
    read_on(now, connection);
}

bool ReceiveJob::takes_answers(proto::Connection& connection) const {
    return control_ && connection.write_capacity(*control_, kMaxAnswersAhead) > 0;
}

void ReceiveJob::set_cap(Instant now, proto::Connection& connection, Rate cap) {
    cap_ = cap;
    if (!life_.goes_on() || life_ == JobStage::opening) return;
    cap_.reset();
    send(now, connection, message::Cap{cap.is_infinite() ? 0 : static_cast<std::uint64_t>(std::max(1.0, cap.bps()))});
}

void ReceiveJob::pass_on(Instant now, proto::Connection& connection, LandingReport::News& news) {
    MessageWriter out;
    if (news.resume) out.put(*news.resume);
    if (news.share) out.put(*news.share);
    ReceiptWriter* const receipt = writer_of(options_.receipt);
    if (news.job && receipt != nullptr) receipt->note(*news.job);
    if (news.job) out.put(*news.job);
    for (message::Answer& answer : news.answers) {
        if (run_.pull) run_.pull->asked.note(answer);
        out.put(std::move(answer));
    }
    for (message::FileFailed& failed : news.failed) {
        if (receipt != nullptr) receipt->note(failed);
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
    for (const Unset& unset : incoming_.take_sender_lacks()) report_.lacks(unset);
}

void ReceiveJob::confirm(Instant now, proto::Connection& connection, message::Confirm message) {
    for (message::FileFailed& failed : incoming_.fail_absent(AskedFor::Questions::over)) {
        send(now, connection, std::move(failed));
        ++message.totals.failures;
    }
    if (const std::uint64_t unnamed = incoming_.unnamed(); unnamed > 0) {
        report_.warn("the sender did not send " + std::to_string(unnamed) +
                     " of its entries: it cannot read or name them, or they do not exist");
        report_.edit([&](Progress&, Outcome& outcome) { outcome.failed_count += unnamed; });
    }
    if (life_ == JobStage::running) life_.enter(JobStage::confirming);
    tell_unset(now, connection);
    set_status(status_from_failures(report_.outcome()));
    report_.edit([](Progress& progress, Outcome&) { progress.phase = Phase::verify; });
    send(now, connection, message);
    if (!run_.pull || !run_.pull->request.empty()) return;
    landing_.queue().cancel();
    end_work(Works::connection);
}

void ReceiveJob::on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (!life_.goes_on()) return;
    if (!data_) data_ = id;
    if (*data_ != id) return;
    landing_.report().note_arrived(bytes.size());
    // Errors wait for the next event, since this call has no connection to close. Such an event always follows FINISH.
    if (incoming_.take_piece(offset, bytes) && incoming_.finished()) waker_.wake();
}

void ReceiveJob::read_on(Instant now, proto::Connection& connection) {
    if (life_ != JobStage::ended && control_) read_control(now, connection);
    if (life_.goes_on() && data_ && data_->kind() == StreamKind::ordered) read_data(now, connection);
    if (!life_.goes_on()) return;
    if (auto handed = incoming_.hand_over(); !handed) end(now, connection, handed.error());
}

void ReceiveJob::read_control(Instant now, proto::Connection& connection) {
    std::array<std::byte, 16384> block{};
    for (;;) {
        for (;;) {
            // If the sender does not read our answers, its next messages stay unread.
            if (incoming_.too_far_ahead() || !takes_answers(connection)) return;
            auto next = reader_.next();
            if (!next) return end(now, connection, next.error());
            if (!next->has_value()) break;
            if (auto taken = incoming_.take(**next); !taken) {
                const ErrorCode code = taken.error().code;
                // A sender that breaks the protocol gets no orderly end.
                const bool orderly = code == ErrorCode::refused || code == ErrorCode::file_io;
                return orderly ? fail(now, connection, taken.error()) : end(now, connection, taken.error());
            }
            if (incoming_.offer()) go_along(now, connection);
            if (!life_.goes_on()) return;
        }
        const auto got = connection.read(*control_, block);
        if (got.bytes == 0) return;
        reader_.feed(std::span(block).first(got.bytes));
    }
}

void ReceiveJob::go_along(Instant now, proto::Connection& connection) {
    if (!landing_.started()) {
        probe_ = incoming_.offer()->mode == TransferMode::probe;
        if (incoming_.offer()->dry_run) report_.tell_files({}, FileEvent::Direction::receive);
        {
            const Lock lock(status_mutex_);
            works_.enter(Works::both);
        }
        landing_.start(base_ ? &*base_ : nullptr, *incoming_.offer(), [this] { end_work(Works::landing); });
    }
    if (life_ == JobStage::opening) {
        life_.enter(JobStage::running);
        send(now, connection, message::Accept{});
    }
    if (cap_) set_cap(now, connection, *cap_);
}

void ReceiveJob::read_data(Instant now, proto::Connection& connection) {
    while (incoming_.takes_stream()) {
        if (incoming_.offer()->mode == TransferMode::tree) {
            return end(now, connection, broken("the data of a tree came on an ordered stream"));
        }
        auto got = connection.read_chunk(*data_);
        const bool all = got.chunk.empty();
        incoming_.take_stream(std::move(got.chunk), got.end);
        if (all) return;
    }
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

void ReceiveJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    const Error cause{code, reason};
    if (life_ == JobStage::opening || life_ == JobStage::running) return fail(now, connection, cause);
    end(now, connection, stopped_for_.value_or(cause));
}

void ReceiveJob::fail(Instant now, proto::Connection& connection, const Error& cause) {
    set_status(cause);
    wind_up(now, connection, cause);
}

void ReceiveJob::wind_up(Instant now, proto::Connection& connection, const Error& cause) {
    if (!life_.goes_on()) return;
    if (!control_) return end(now, connection, cause);
    life_.enter(JobStage::stopping);
    stopped_for_ = cause;
    landing_.stop();
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
    if (life_ != JobStage::stopping || works(Works::landing)) return;
    life_.enter(JobStage::closing);
    // Takes the rest of the lists, which is less than one turn's amount.
    LandingReport::News last = landing_.report().take(LandingReport::Lists::all);
    pass_on(now, connection, last);
    tell_unset(now, connection);
    const auto code = static_cast<std::uint64_t>(close_code_for(stopped_for_->code));
    send(now, connection, message::Stopped{code, stopped_for_->message, totals_of(report_)});
}

void ReceiveJob::end(Instant now, proto::Connection& connection, const Error& error) {
    if (life_ == JobStage::ended) return;
    life_.enter(JobStage::ended);
    set_status(error);
    connection.close(now, static_cast<std::uint64_t>(close_code_for(error.code)), error.message);
    // Tidies up now, before the connection has drained.
    landing_.stop();
}

void ReceiveJob::on_closed(const proto::CloseReason& reason) {
    if (life_ != JobStage::ended) life_.enter(JobStage::ended);
    if (reason.orderly() && reason.by_peer) {
        report_.edit([&](Progress& progress, Outcome&) { take_last_counters(reason.message, progress.sender); });
    }
    if (stopped_for_ && !reason.application) set_status(*stopped_for_);
    if (probe_ && reason.orderly()) set_status({});
    set_status(reason.orderly() ? broken("the sender ended before everything was confirmed")
                                : error_for(reason, "sender: "));
    landing_.stop();
    end_work(Works::connection);
}

void ReceiveJob::set_status(Result<void> status) {
    const Lock lock(status_mutex_);
    if (!status_) status_ = std::move(status);
}

bool ReceiveJob::works(Works who) const {
    const Lock lock(status_mutex_);
    return works_ == who || works_ == Works::both;
}

void ReceiveJob::end_work(Works whose) {
    {
        const Lock lock(status_mutex_);
        if (works_ == Works::both) return works_.enter(whose == Works::landing ? Works::connection : Works::landing);
        if (works_ != whose) return;
        works_.enter(Works::nobody);
        Result<void> status = status_.value_or(Error{ErrorCode::internal, "ended without a reason"});
        report_.edit([&](Progress& progress, Outcome& outcome) {
            progress.phase = Phase::done;
            outcome.status = std::move(status);
        });
    }
    if (done_) done_();
}

}  // namespace udtx::transfer
