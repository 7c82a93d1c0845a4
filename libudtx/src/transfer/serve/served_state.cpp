#include "transfer/serve/served_state.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "base/state_access.hpp"
#include "io/connector.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/log.hpp"
#include "udtx/system.hpp"

namespace udtx::transfer {
namespace {

/// Time for a cancelled transfer to tidy up, report and close in good order.
constexpr Duration kGoodEndWithin = std::chrono::seconds(2);
/// Time for a silent peer to state its request, or more of it. Ours does so at once.
constexpr Duration kFirstWordWithin = std::chrono::seconds(15);
/// Time for the whole request, with a long list of names on a slow path.
constexpr Duration kRequestWithin = std::chrono::minutes(10);

}  // namespace

ServedState::ServedState(std::weak_ptr<io::ProtocolThread> protocol, proto::Connection& connection, Setup setup)
    : protocol_(std::move(protocol)),
      connection_(&connection),
      client_(std::move(setup.client)),
      owner_(setup.owner),
      most_(setup.most),
      log_(std::move(setup.log)),
      heard_at_(start_),
      cap_(std::min(setup.serve.told, setup.most)) {
    setup.serve.cap = cap_;
    job_ = std::make_unique<ServedJob>(std::move(setup.serve), [over_at = over_at_, tell = std::move(setup.on_done)] {
        *over_at = monotonic_now();
        tell();
    });
    life_.enter(JobStage::running);
}

void ServedState::give_way(ErrorCode code, std::string why) {
    const Lock lock(mutex_);
    if (!way_given_) way_given_ = Error{code, std::move(why)};
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
    if (!job_over()) press(monotonic_now(), Error{code, reason}, Duration::max());
}

void ServedState::ask_to_end(const Error& why) {
    act([this, why](proto::Connection& connection) {
        job_->abort(monotonic_now(), connection, why.code, why.message);
    });
}

void ServedState::turn(Instant now, Duration patience) {
    if (const std::uint64_t heard = job_->heard(); heard != std::exchange(heard_, heard)) heard_at_ = now;
    idle_ = is_silent() ? now - heard_at_ : stall_.idle(now, job_->progress());
    act([this](const proto::Connection& connection) { keep_stats(connection); });
    if (job_over()) return;
    std::optional<Error> why;
    {
        const Lock lock(mutex_);
        why = way_given_;
    }
    if (!why) why = impatience(now, patience);
    press(now, why, kGoodEndWithin);
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

void ServedState::keep_stats(const proto::Connection& connection) {
    streams_held_ = connection.held_bytes();
    ConnectionStats stats = connection.stats();
    const Lock lock(mutex_);
    stats_ = std::move(stats);
}

void ServedState::settle() {
    {
        const Lock lock(mutex_);
        if (life_ == JobStage::ended) return;
    }
    const ReceiveJob* receiver = job_->receiver();
    Result<void> settled;
    if (receiver != nullptr && receiver->receipt() && !receiver->is_probe()) {
        const Outcome outcome = job_->result();
        const bool confirmed = outcome.status.ok() || outcome.status.error().code == ErrorCode::partial;
        if (outcome.dry_run) {
            receiver->receipt()->discard();  // the other end asked for the dry run
        } else if (confirmed) {
            settled = StateAccess::of(*receiver->receipt())->finish(
                [receiver](const std::string& path) { return receiver->open_delivered(path); });
        }
    }
    const Lock lock(mutex_);
    receipt_status_ = std::move(settled);
    life_.enter(JobStage::ended);
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

const Client& ServedTransfer::client() const noexcept { return state_->client(); }

ServedTransfer::Kind ServedTransfer::kind() const {
    if (const ReceiveJob* receiver = state_->job_->receiver()) return receiver->is_probe() ? Kind::measure : Kind::push;
    return state_->job_->fetches() ? Kind::pull : Kind::unknown;
}

bool ServedTransfer::sends() const { return state_->job_->sender() != nullptr; }
bool ServedTransfer::refused() const { return state_->job_->refused(); }
bool ServedTransfer::done() const noexcept {
    const Lock lock(state_->mutex_);
    return state_->life_ == JobStage::ended;
}
Progress ServedTransfer::progress() const { return state_->job_->progress(); }

Outcome ServedTransfer::outcome() const {
    Outcome outcome = state_->job_->result();
    outcome.exact = state_->job_over();
    const Lock lock(state_->mutex_);
    outcome.receipt = state_->receipt_status_;
    return outcome;
}

std::optional<ConnectionStats> ServedTransfer::stats() const {
    const Lock lock(state_->mutex_);
    return state_->stats_;
}

Duration ServedTransfer::elapsed() const { return state_->elapsed(); }
Duration ServedTransfer::idle() const { return state_->idle(); }
std::uint64_t ServedTransfer::held() const { return state_->held(); }

Duration ServedTransfer::writing_time() const {
    const ReceiveJob* receiver = state_->job_->receiver();
    return receiver == nullptr ? Duration() : receiver->written_for();
}

void ServedTransfer::set_max_rate(Rate rate) const {
    if (!proto::may_cap(rate)) return;
    rate = std::min(rate, state_->most_);
    {
        const Lock lock(state_->mutex_);
        if (rate == state_->cap_) return;
        state_->cap_ = rate;
    }
    state_->act([job = state_->job_.get(), rate](proto::Connection& connection) {
        job->set_cap(monotonic_now(), connection, rate);
    });
}

void ServedTransfer::cancel(ErrorCode code, const std::string& reason) const { state_->cancel(code, reason); }

}  // namespace udtx::transfer
