#include "transfer/serve/served_state.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "io/connector.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/core/config_check.hpp"
#include "udtx/monotonic_clock.hpp"
#include "udtx/text.hpp"

namespace udtx::transfer {
namespace {

/// Time for a cancelled transfer to tidy up, report and close in good order.
constexpr Duration kGoodEndWithin = std::chrono::seconds(2);
/// Time for a silent peer to state its request, or more of it. Ours does so at once.
constexpr Duration kFirstWordWithin = std::chrono::seconds(15);
/// Time for the whole request, with a long list of names on a slow path.
constexpr Duration kRequestWithin = std::chrono::minutes(10);

}  // namespace

ServedState::ServedState(std::weak_ptr<io::ProtocolThread> protocol, proto::Connection& connection, Setup& setup)
    : protocol_(std::move(protocol)),
      connection_(&connection),
      client_(std::move(setup.client)),
      owner_(setup.owner),
      most_(setup.most),
      log_(std::move(setup.log)),
      start_(monotonic_now()),
      heard_at_(start_),
      cap_(setup.serve.cap) {}

std::shared_ptr<ServedState> ServedState::make(std::weak_ptr<io::ProtocolThread> protocol,
                                               proto::Connection& connection, Setup setup) {
    setup.serve.cap = std::min(setup.serve.told, setup.most);
    std::shared_ptr<ServedState> self(new ServedState(std::move(protocol), connection, setup));
    // It captures the flags and not the state: a thread of the job must not become the state's last owner.
    self->job_ = std::make_unique<ServedJob>(
        std::move(setup.serve), [done = self->job_done_, end = self->end_, tell = std::move(setup.on_done)] {
            *end = monotonic_now();
            *done = true;
            tell();
        });
    return self;
}

ServedTransfer::Kind ServedState::kind() const {
    if (const ReceiveJob* receiver = job_->receiver()) {
        return receiver->is_probe() ? ServedTransfer::Kind::measure : ServedTransfer::Kind::push;
    }
    return job_->fetches() ? ServedTransfer::Kind::pull : ServedTransfer::Kind::unknown;
}

Outcome ServedState::outcome() const {
    Outcome outcome = job_->result();
    outcome.exact = job_done();
    const std::lock_guard lock(mutex_);
    outcome.receipt = receipt_status_;
    return outcome;
}

std::optional<ConnectionStats> ServedState::stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

Duration ServedState::elapsed() const { return (job_done() ? end_->load() : monotonic_now()) - start_; }

Duration ServedState::writing_time() const {
    const ReceiveJob* receiver = job_->receiver();
    return receiver == nullptr ? Duration() : receiver->written_for();
}

void ServedState::give_way(ErrorCode code, std::string why) {
    const std::lock_guard lock(mutex_);
    if (!way_given_) way_given_ = Error{code, std::move(why)};
    gives_way_ = true;
}

void ServedState::set_max_rate(Rate rate) {
    if (!proto::may_cap(rate)) return;
    rate = std::min(rate, most_);
    {
        const std::lock_guard lock(mutex_);
        if (rate == cap_) return;
        cap_ = rate;
    }
    act([this, rate](proto::Connection& connection) { job_->set_cap(monotonic_now(), connection, rate); });
}

void ServedState::act(std::function<void(proto::Connection&)> what) {
    const auto protocol = protocol_.lock();
    if (!protocol) return;
    protocol->driver().post([weak = weak_from_this(), what = std::move(what)] {
        const auto self = weak.lock();
        if (self && self->connection_ != nullptr) what(*self->connection_);
    });
}

void ServedState::cancel(ErrorCode code, const std::string& reason) {
    Error why{code, reason};
    {
        const std::lock_guard lock(mutex_);
        if (cancelled_ || job_done()) return;
        cancelled_ = why;
        cancelled_at_ = monotonic_now();
    }
    ask_to_end(why);
}

void ServedState::ask_to_end(const Error& why) {
    act([this, why](proto::Connection& connection) {
        job_->abort(monotonic_now(), connection, why.code, why.message);
    });
}

void ServedState::keep(std::optional<ReceiptFile> receipt) {
    const std::lock_guard lock(mutex_);
    receipt_ = std::move(receipt);
}

void ServedState::turn(Instant now, Duration patience) {
    if (const std::uint64_t heard = job_->heard(); heard != std::exchange(heard_, heard)) heard_at_ = now;
    idle_ = is_silent() ? now - heard_at_ : stall_.idle(now, job_->progress());
    sample_stats();
    if (job_done()) return;
    std::optional<Error> why;
    bool again = false;
    {
        const std::lock_guard lock(mutex_);
        if (!cancelled_) {
            why = gives_way_ ? way_given_ : impatience(now, patience);
        } else if (now >= cancelled_at_ + kGoodEndWithin && !std::exchange(closed_, true)) {
            // The sender has had its time to read what was delivered and to close.
            why = cancelled_;
            again = true;
        }
    }
    if (!why) return;
    again ? ask_to_end(*why) : cancel(why->code, why->message);
}

std::optional<Error> ServedState::impatience(Instant now, Duration patience) const {
    const Duration idle = idle_;
    if (is_silent()) {
        if (idle >= kFirstWordWithin) {
            const char* what =
                heard_ == 0 ? "no request arrived within " : "the rest of the request did not arrive within ";
            return Error{ErrorCode::timeout, what + elapsed_text(kFirstWordWithin)};
        }
        if (now - start_ < kRequestWithin) return std::nullopt;
        return Error{ErrorCode::timeout, "a request was not complete within " + elapsed_text(kRequestWithin)};
    }
    if (patience <= Duration::zero() || idle < patience) return std::nullopt;
    return Error{ErrorCode::timeout, "nothing moved for " + elapsed_text(patience)};
}

void ServedState::sample_stats() {
    act([this](const proto::Connection& connection) { keep_stats(connection); });
}

void ServedState::keep_stats(const proto::Connection& connection) {
    streams_held_ = connection.held_bytes();
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    stats_ = std::move(stats);
}

void ServedState::settle() {
    if (settled_) return;
    std::optional<ReceiptFile> receipt;
    {
        const std::lock_guard lock(mutex_);
        receipt = receipt_;
    }
    const ReceiveJob* receiver = job_->receiver();
    if (receipt && receiver != nullptr && !receiver->is_probe()) {
        const Outcome outcome = job_->result();
        const bool confirmed = outcome.status.ok() || outcome.status.error().code == ErrorCode::partial;
        Result<void> settled;
        if (outcome.dry_run) {
            receipt->discard();  // the other end asked for the dry run
        } else if (confirmed) {
            settled = receipt->writer()->finish(
                [receiver](const std::string& path) { return receiver->open_delivered(path); });
        }
        const std::lock_guard lock(mutex_);
        receipt_status_ = std::move(settled);
    }
    settled_ = true;
}

void ServedState::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (!std::exchange(waker_set_, true)) {
        if (const auto protocol = protocol_.lock()) job_->set_waker(protocol->driver().waker_for(connection));
    }
    if (std::holds_alternative<proto::event::Closed>(event)) {
        connection_ = nullptr;  // the connection is destroyed after this call, whatever happens here
        try {
            keep_stats(connection);
        } catch (const std::exception&) {
            // There is no memory for the last figures: the earlier ones stay.
        }
    }
    if (log_) io::log_paths(log_, to_string(client_.address) + ": ", true, event);
    job_->on_event(now, connection, event);
}

}  // namespace udtx::transfer
