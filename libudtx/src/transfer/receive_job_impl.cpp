#include "transfer/receive_job_impl.hpp"

#include <array>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/names.hpp"
#include "transfer/receive_worker.hpp"

namespace udtx::transfer {

namespace {

constexpr Duration kDeliveredInterval = std::chrono::milliseconds(100);

}  // namespace

ReceiveJob::Impl::Impl(ReceiveOptions options, std::optional<ConfinedDir> base, DoneCallback done)
    : options_(std::move(options)), base_(std::move(base)), done_(std::move(done)) {}

ReceiveJob::Impl::~Impl() {
    waker.set(nullptr);
    set_status(Error{ErrorCode::interrupted, "the job was given up"});
    stop_.stop();
    queue_.cancel();
    if (worker_.joinable()) worker_.join();
}

void ReceiveJob::Impl::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) return on_closed(closed->reason);
    if (ended_) return;
    if (std::holds_alternative<proto::event::Connected>(event)) {
        if (options_.role != Role::client || control_) return;
        auto opened = connection.open_stream(StreamKind::ordered);
        if (!opened) return end(now, connection, opened.error());
        control_ = *opened;
        send(now, connection, message::Accept{});  // makes the stream known to the sender
        accepted_sent_ = true;
    } else if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        on_stream(now, connection, opened->id);
    } else if (std::holds_alternative<proto::event::StreamReset>(event)) {
        end(now, connection, Error{ErrorCode::protocol, "the sender gave up a stream"});
    } else {
        advance(now, connection);
    }
}

void ReceiveJob::Impl::on_stream(Instant now, proto::Connection& connection, StreamId id) {
    if (id == StreamId::make(0, StreamKind::ordered, Role::client)) {
        control_ = id;
    } else if (!data_ || *data_ == id) {
        data_ = id;
    } else {
        return end(now, connection, Error{ErrorCode::protocol, "the sender opened a second data stream"});
    }
    advance(now, connection);
}

void ReceiveJob::Impl::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (ended_) return;
    if (!data_) data_ = id;
    if (*data_ != id) return;
    assembler_.on_bytes(offset, bytes);
    hand_over_pieces();
    // Errors wait for the next event: this call has no connection to close. FINISH is followed by one for sure.
    if (finish_) waker.wake();
}

void ReceiveJob::Impl::on_wake(Instant now, proto::Connection& connection) {
    ReceiveFeedback::News news = feedback_.take();
    if (ended_) return;
    if (news.released_bytes > 0 && data_) connection.release_placed(*data_, news.released_bytes);
    for (message::FileFailed& failed : news.failed) send(now, connection, failed);
    if (news.fatal) return end(now, connection, *news.fatal);
    const bool news_to_tell =
        news.delivered.files != delivered_files_ || news.delivered.written_bytes != delivered_bytes_;
    if (news_to_tell && (!last_delivered_ || now - *last_delivered_ >= kDeliveredInterval)) {
        last_delivered_ = now;
        delivered_files_ = news.delivered.files;
        delivered_bytes_ = news.delivered.written_bytes;
        send(now, connection, news.delivered);
    }
    if (news.confirm) {
        if (finish_ && finish_->unsent > 0) {
            report.warn("the sender could not read " + std::to_string(finish_->unsent) + " of its files");
        }
        confirm_sent_ = true;
        set_status(finish_ && finish_->unsent > 0
                       ? Result<void>(Error{ErrorCode::partial, "the sender could not read all of its files"})
                       : status_from_failures(report.outcome()));
        report.edit([](Progress& progress, Outcome&) { progress.phase = Phase::verify; });
        send(now, connection, *news.confirm);
        return;
    }
    advance(now, connection);
}

void ReceiveJob::Impl::advance(Instant now, proto::Connection& connection) {
    if (!ended_ && control_) read_control(now, connection);
    if (!ended_ && data_ && data_->kind() == StreamKind::ordered) read_data(now, connection);
    if (ended_) return;
    hand_over_pieces();
    if (auto finished = finish_if_complete(); !finished) end(now, connection, finished.error());
}

void ReceiveJob::Impl::send(Instant now, proto::Connection& connection, const Message& message) {
    MessageWriter out;
    out.put(message);
    if (auto written = connection.write(*control_, Chunk::copy_of(out.bytes())); !written) {
        end(now, connection, written.error());
    }
}

void ReceiveJob::Impl::end(Instant now, proto::Connection& connection, const Error& error) {
    if (ended_) return;
    ended_ = true;
    set_status(error);
    connection.close(now, static_cast<std::uint64_t>(close_code_for(error.code)), error.message);
    // Clean up at once rather than when the connection has drained.
    stop_.stop();
    queue_.cancel();
}

void ReceiveJob::Impl::on_closed(const proto::CloseReason& reason) {
    ended_ = true;
    const ErrorCode code = reason.application ? error_code_for(reason.wire_code) : reason.code;
    const std::string who = reason.application && reason.by_peer ? "sender: " : "";
    set_status(Error{code, reason.orderly() ? "the sender ended before everything was confirmed"
                                            : who + escape_line(reason.message)});
    stop_.stop();
    queue_.cancel();
    if (!offer_) settle();  // no worker was started
}

void ReceiveJob::Impl::set_status(Result<void> status) {
    const std::lock_guard lock(status_mutex_);
    if (!status_) status_ = std::move(status);
}

void ReceiveJob::Impl::settle() {
    {
        const std::lock_guard lock(status_mutex_);
        if (settled_) return;
        settled_ = true;
        report.edit([&](Progress& progress, Outcome& outcome) {
            progress.phase = Phase::done;
            outcome.status = status_.value_or(Error{ErrorCode::internal, "ended without a reason"});
        });
    }
    if (done_) done_();
}

void ReceiveJob::Impl::start_worker() {
    worker_ = std::thread([this, offer = *offer_] {
        const WorkerLinks links{queue_, feedback_, report, stop_};
        if (offer.mode == TransferMode::tree) {
            run_tree_worker(*base_, offer, links);
        } else if (options_.to_stream) {
            run_pipe_worker(options_.stream_fd, offer, links);
        } else {
            run_file_worker(*base_, offer, links);
        }
        // The protocol thread closes the queue when the connection has ended: the status is known by then.
        while (queue_.pop()) {
        }
        settle();
    });
}

}  // namespace udtx::transfer
