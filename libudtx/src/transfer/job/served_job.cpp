#include "transfer/job/served_job.hpp"

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

#include "os/system.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Two streams are opened, and may be reset, before the first message is complete.
constexpr std::size_t kMostMissed = 8;

}  // namespace

ServedJob::~ServedJob() { waker_.set(nullptr); }

Job* ServedJob::chosen() const noexcept {
    if (ReceiveJob* receiver = receiver_) return receiver;
    return sender_.load();
}

bool ServedJob::at_rest() const noexcept {
    const SendJob* sender = sender_;
    return sender == nullptr || sender->at_rest();  // a receiver that is done is at rest
}

std::uint64_t ServedJob::held() const {
    if (const ReceiveJob* receiver = receiver_) return receiver->held();
    if (const SendJob* sender = sender_) return waiting_ + sender->held();
    return waiting_;
}

Progress ServedJob::progress() const {
    const Job* job = chosen();
    return job == nullptr ? Job::progress() : job->progress();
}

Outcome ServedJob::result() const {
    const Job* job = chosen();
    return job == nullptr ? Job::result() : job->result();
}

void ServedJob::set_cap(Instant now, proto::Connection& connection, Rate cap) {
    options_.cap = cap;
    if (ReceiveJob* receiver = receiver_) receiver->set_cap(now, connection, cap);
    if (sender_ != nullptr) connection.set_max_rate(cap);
}

void ServedJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    if (job_) return job_->abort(now, connection, code, reason);
    end(now, connection, Error{code, reason});
}

void ServedJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (job_) {
        job_->on_event(now, connection, event);
        if (!std::holds_alternative<proto::event::Closed>(event)) return;
        life_.enter(JobStage::ended);
        // The server removes the job later, and the next client may be here before.
        if (at_rest()) claim_.reset();
        return;
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        const proto::CloseReason& reason = closed->reason;
        if (life_ == JobStage::opening) {
            settle(reason.orderly() ? broken("the other end disconnected without a reason") : error_for(reason));
        }
        if (done_) done_();
        return;
    }
    if (life_ != JobStage::opening) return;
    if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        if (opened->id == StreamId::make(0, StreamKind::ordered, Role::client)) control_ = opened->id;
    }
    const auto* reset = std::get_if<proto::event::StreamReset>(&event);
    if (reset != nullptr && control_ == reset->id) {
        // The reset also ends its request.
        return end(now, connection, Error{error_code_for(reset->code), "the other end stopped the transfer"});
    }
    // The chosen job needs no past Readable and Writable events: it checks the streams itself.
    const bool lasting = std::holds_alternative<proto::event::StreamOpened>(event) ||
                         std::holds_alternative<proto::event::StreamReset>(event);
    if (lasting) missed_.push_back(event);
    if (missed_.size() > kMostMissed) {
        return end(now, connection, broken("the other end opens streams and sends nothing"));
    }
    if (control_) read_control(now, connection);
}

void ServedJob::on_wake(Instant now, proto::Connection& connection) {
    if (job_) job_->on_wake(now, connection);
}

void ServedJob::on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (job_) return job_->on_piece(id, offset, bytes);
    if (!early_stream_) early_stream_ = id;
    if (*early_stream_ != id || life_ != JobStage::opening) return;
    early_.hold(offset, bytes);
    waiting_ = request_.held() + early_.held_bytes();
}

void ServedJob::read_control(Instant now, proto::Connection& connection) {
    std::array<std::byte, 16384> block{};
    while (!decide(now, connection)) {
        const auto got = connection.read(*control_, block);
        if (got.bytes == 0) {
            if (got.end) end(now, connection, broken("the other end closed the control stream"));
            return;
        }
        heard_ += got.bytes;
        incoming_.feed(std::span(block).first(got.bytes));
    }
}

bool ServedJob::decide(Instant now, proto::Connection& connection) {
    for (;;) {
        const auto type = incoming_.next_type();
        if (!type) return false;
        const bool pushes = !request_.begun() && *type == message::Offer::kType;
        if (pushes || (request_.begun() && *type == message::Accept::kType)) {
            claim_ = DescriptorClaim::take();
            if (!claim_) {
                end(now, connection, system_failure(ErrorCode::no_resources, "no descriptors left", EMFILE));
            } else if (pushes) {
                become_receiver(now, connection);
            } else {
                become_sender(now, connection);
            }
            return true;
        }
        auto next = incoming_.next();
        Result<void> added = next ? Result<void>() : Result<void>(next.error());
        if (next && !next->has_value()) return false;
        if (next) added = request_.add(std::move(**next));
        fetches_ = request_.begun();
        waiting_ = request_.held() + early_.held_bytes();
        if (!added) {
            end(now, connection, added.error());
            return true;
        }
    }
}

void ServedJob::become_receiver(Instant now, proto::Connection& connection) {
    auto options = options_.push();
    if (!options) return end(now, connection, options.error());
    auto made = ReceiveJob::create(std::move(*options), {.pull = {}, .on_file = options_.on_file}, done_);
    if (!made) return end(now, connection, made.error());
    ReceiveJob& job = **made;
    job.begin_with(std::move(incoming_));
    job_ = std::move(*made);
    receiver_ = &job;
    if (options_.cap < options_.told) job.set_cap(now, connection, options_.cap);
    hand_over(now, connection, job);
}

void ServedJob::become_sender(Instant now, proto::Connection& connection) {
    if (early_stream_) return end(now, connection, broken("data came with a request"));
    auto sources = options_.pull(request_.wish());
    if (!sources) return end(now, connection, sources.error());
    PullWish wish = request_.take_wish();
    if (wish.what.names) {
        // A list of names is relative to the contents of the source.
        const bool directory = sources->roots.size() == 1 && sources->shape == SourceShape::contents;
        if (!directory) return end(now, connection, Error{ErrorCode::refused, "a list of names needs one directory"});
    }
    if (!sources->missing.empty()) wish.what.erase = false;
    auto made = SendJob::create_for_pull(std::move(wish), std::move(*sources), options_.on_file, done_);
    SendJob& job = *made;
    job.begin_with(std::move(incoming_));
    job_ = std::move(made);
    sender_ = &job;
    connection.set_max_rate(options_.cap);
    hand_over(now, connection, job);
}

void ServedJob::hand_over(Instant now, proto::Connection& connection, Job& job) {
    life_.enter(JobStage::running);
    job.set_waker([this] { waker_.wake(); });
    for (const proto::Event& event : std::exchange(missed_, {})) job.on_event(now, connection, event);
    early_.release_below(UINT64_MAX, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
        job.on_piece(*early_stream_, offset, bytes);
    });
}

void ServedJob::end(Instant now, proto::Connection& connection, const Error& error) {
    if (life_ != JobStage::opening) return;
    refused_ = error.code == ErrorCode::refused;
    if (is_shortage(error)) {
        // Refuses like a full server: the client and its files are not at fault.
        connection.refuse(now, refusal_for(error));
    } else {
        connection.close(now, static_cast<std::uint64_t>(close_code_for(error.code)), error.message);
    }
    settle(error);
}

void ServedJob::settle(const Error& error) {
    life_.enter(JobStage::ended);
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::done;
        outcome.exact = true;
        outcome.status = error;
    });
}

}  // namespace udtx::transfer
